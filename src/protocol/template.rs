//! Templates: texts with `{task.<field>}`, `{task.dir}`, `{arm.id}`, `{run.…}` in them.

use std::ops::Range;

/// A hole in a template.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hole<'t> {
    /// What stands between the braces.
    pub name: &'t str,
    /// Where the hole stands, braces included.
    pub range: Range<usize>,
}

/// Returns the holes of a template: braces around a dotted name.
///
/// Other braces are ordinary text, so that shell and JSON can be written as they are.
pub fn holes(text: &str) -> Vec<Hole<'_>> {
    let mut found = Vec::new();
    let mut from = 0;
    while let Some(open) = text[from..].find('{').map(|at| from + at) {
        from = open + 1;
        // `${name}` is the shell's, not ours.
        if text[..open].ends_with('$') {
            continue;
        }
        let Some(close) = text[open..].find('}').map(|at| open + at) else {
            break;
        };
        let name = &text[open + 1..close];
        if is_name(name) {
            found.push(Hole {
                name,
                range: open..close + 1,
            });
            from = close + 1;
        }
    }
    found
}

/// Returns where a template begins a hole of ours and does not finish it: `{task.id`, `{run.id + 1}`.
pub fn slips(text: &str) -> Vec<Range<usize>> {
    let ours = ["{task.", "{arm.", "{run."];
    let starts = ours.iter().flat_map(|start| text.match_indices(start));
    let whole = holes(text);
    let mut found: Vec<Range<usize>> = starts
        .map(|(at, _)| at)
        .filter(|at| !text[..*at].ends_with('$'))
        .filter(|at| !whole.iter().any(|hole| hole.range.start == *at))
        .map(|at| at..text[at..].find('}').map_or(text.len(), |end| at + end + 1))
        .collect();
    found.sort_by_key(|range| range.start);
    found
}

fn is_name(name: &str) -> bool {
    let word = |part: &str| {
        !part.is_empty() && part.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
    };
    name.starts_with(|c: char| c.is_ascii_alphabetic()) && name.split('.').all(word)
}

/// Fills the holes of a template; a name without a value is returned as the error.
pub fn fill(text: &str, value: impl Fn(&str) -> Option<String>) -> Result<String, String> {
    let mut filled = String::with_capacity(text.len());
    let mut from = 0;
    for hole in holes(text) {
        filled.push_str(&text[from..hole.range.start]);
        filled.push_str(&value(hole.name).ok_or_else(|| hole.name.to_owned())?);
        from = hole.range.end;
    }
    filled.push_str(&text[from..]);
    Ok(filled)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_dotted_names_are_holes() {
        let names = |text| {
            holes(text)
                .into_iter()
                .map(|hole| hole.name)
                .collect::<Vec<_>>()
        };
        assert_eq!(names("{task.dir}/x {arm.id}"), ["task.dir", "arm.id"]);
        assert_eq!(
            names("printf '{\"done\": true}' ${HOME} { a; } {} {x.}"),
            Vec::<&str>::new()
        );
        assert_eq!(names("{nope}"), ["nope"]);
        assert_eq!(
            slips("a {task.id b {run.x + 1} ${run.y {arm.id}"),
            [2..24, 13..24]
        );
        assert_eq!(
            fill("a{x}b{x}", |_| Some("1".to_owned())),
            Ok("a1b1".to_owned())
        );
        assert_eq!(fill("{x}", |_| None), Err("x".to_owned()));
    }
}
