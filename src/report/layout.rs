//! Lines, headings and paragraphs of a page.

/// How wide a paragraph is.
const WIDTH: usize = 78;

/// Writes a heading of one line.
pub(super) fn heading(page: &mut String, word: &str, text: &str) {
    if !page.is_empty() {
        page.push('\n');
    }
    page.push_str(format!("{word:<11} {text}").trim_end());
    page.push('\n');
}

/// Writes a line below a heading.
pub(super) fn line(page: &mut String, name: &str, text: &str) {
    page.push_str(format!("  {name:<24} {text}").trim_end());
    page.push('\n');
}

/// Writes a paragraph, wrapped between words.
pub(super) fn wrapped(page: &mut String, word: &str, text: &str) {
    let mut lines: Vec<String> = vec![String::new()];
    for part in text.split_whitespace() {
        let room = WIDTH - 12;
        match lines.last_mut() {
            Some(last) if last.is_empty() => last.push_str(part),
            Some(last) if last.chars().count() + 1 + part.chars().count() <= room => {
                last.push(' ');
                last.push_str(part);
            }
            _ => lines.push(part.to_owned()),
        }
    }
    for (i, text) in lines.iter().enumerate() {
        let word = if i == 0 { word } else { "" };
        page.push_str(&format!("{word:<11} {text}\n"));
    }
}
