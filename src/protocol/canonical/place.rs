//! Where in the text of a JSON document a value stands.

use std::ops::Range;

use serde::de::IgnoredAny;

/// The bytes of a value that stands in an object, and those of the key before it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Placed {
    /// The key with its quotes; the value's first byte for the whole document.
    pub key: Range<usize>,
    /// The value.
    pub value: Range<usize>,
}

/// Returns where the value that a JSON pointer names stands in a sound document; nothing where it
/// is not there. Goes through objects only.
pub fn place(text: &[u8], pointer: &str) -> Option<Placed> {
    let start = blanks(text, 0);
    let whole = Placed {
        key: start..start,
        value: start..end(text, start)?,
    };
    pointer.split('/').skip(1).try_fold(whole, |within, token| {
        let name = token.replace("~1", "/").replace("~0", "~");
        member(text, within.value.start, &name)
    })
}

/// Finds a member of the object that begins at a byte.
fn member(text: &[u8], object: usize, name: &str) -> Option<Placed> {
    if text.get(object) != Some(&b'{') {
        return None;
    }
    let mut at = blanks(text, object + 1);
    while text.get(at) == Some(&b'"') {
        let key = at..end(text, at)?;
        let start = blanks(text, key.end);
        let value = start..end(text, start)?;
        if is_named(&text[key.clone()], name)? {
            return Some(Placed { key, value });
        }
        at = blanks(text, value.end);
    }
    None
}

/// Returns whether a key with its quotes is a name.
fn is_named(key: &[u8], name: &str) -> Option<bool> {
    if key.contains(&b'\\') {
        return Some(serde_json::from_slice::<String>(key).ok()? == name);
    }
    Some(key.get(1..key.len() - 1)? == name.as_bytes())
}

/// Goes over what stands between keys and values.
fn blanks(text: &[u8], from: usize) -> usize {
    let rest = text.get(from..).unwrap_or_default();
    let between = |byte: &u8| byte.is_ascii_whitespace() || matches!(byte, b',' | b':');
    from + rest.iter().take_while(|byte| between(byte)).count()
}

/// Returns the byte after the value that begins at a byte.
fn end(text: &[u8], start: usize) -> Option<usize> {
    let rest = text.get(start..)?;
    let mut values = serde_json::Deserializer::from_slice(rest).into_iter::<IgnoredAny>();
    values.next()?.ok()?;
    Some(start + values.byte_offset())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_is_found_with_its_key() {
        let text = r#" {"a": {"x/y": [1, {"z": 2}]}, "b\u0061": -1.5e3,"c":"}"} "#;
        let rows = [
            ("/a/x~1y", Some((r#""x/y""#, r#"[1, {"z": 2}]"#))),
            ("/ba", Some((r#""b\u0061""#, "-1.5e3"))),
            ("/c", Some((r#""c""#, r#""}""#))),
            ("/z", None),
            ("/c/z", None),
            ("", Some(("", text.trim()))),
        ];
        for (pointer, wanted) in rows {
            let found = place(text.as_bytes(), pointer);
            let found = found.map(|placed| (&text[placed.key], &text[placed.value]));
            assert_eq!(found, wanted, "{pointer}");
        }
    }
}
