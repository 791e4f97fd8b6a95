//! Patterns of paths: `*` and `?` inside a name, `**` for any number of folders.

/// A pattern of paths below a folder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pattern {
    segments: Vec<Segment>,
}

/// What stands between two slashes of a pattern.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Segment {
    /// Any number of folders.
    Folders,
    /// One name.
    Name(Vec<Part>),
}

/// A part of a name.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Part {
    /// Any text.
    Text,
    /// Any character.
    Any,
    /// This character.
    One(char),
}

/// What other tools read a meaning into, and this language does not.
const RESERVED: &[char] = &['[', ']', '{', '}', '\\', '!'];

impl Pattern {
    /// Reads a pattern, which is a plain path with wildcards; says what is wrong with one that is none.
    pub fn read(text: &str) -> Result<Self, String> {
        if let Some(reserved) = text.chars().find(|c| RESERVED.contains(c)) {
            return Err(format!(
                "a pattern has no `{reserved}`; write `*` for any text, `?` for a character, `**` for any folders"
            ));
        }
        let segments = text.split('/').map(|segment| match segment {
            "**" => Ok(Segment::Folders),
            name if name.contains("**") => Err(format!(
                "`**` stands for whole folders and not beside other characters, as in `{name}`"
            )),
            name => Ok(Segment::Name(name.chars().map(part).collect())),
        });
        let segments: Vec<Segment> = segments.collect::<Result<_, String>>()?;
        match segments.last() {
            Some(Segment::Folders) => Err(
                "a pattern names files, and `**` at its end names folders; write `**/*`".to_owned(),
            ),
            _ => Ok(Self { segments }),
        }
    }

    /// Returns whether a path below the folder, with `/`, is one of the pattern.
    pub fn matches(&self, path: &str) -> bool {
        accepts(
            &self.segments,
            path.split('/'),
            |segment| *segment == Segment::Folders,
            |segment, name| match segment {
                Segment::Folders => true,
                Segment::Name(parts) => is_name(parts, name),
            },
        )
    }
}

fn part(character: char) -> Part {
    match character {
        '*' => Part::Text,
        '?' => Part::Any,
        one => Part::One(one),
    }
}

fn is_name(parts: &[Part], name: &str) -> bool {
    accepts(
        parts,
        name.chars(),
        |part| *part == Part::Text,
        |part, found| match part {
            Part::One(one) => one == found,
            Part::Text | Part::Any => true,
        },
    )
}

/// Returns whether a list of items is one of a pattern, of which some parts stand for any number of
/// items. It takes as many steps as there are pairs of a part and an item, whatever they are.
fn accepts<P, T>(
    pattern: &[P],
    items: impl Iterator<Item = T>,
    is_many: impl Fn(&P) -> bool,
    fits: impl Fn(&P, &T) -> bool,
) -> bool {
    let skip = |reached: &mut Vec<bool>| {
        for (i, part) in pattern.iter().enumerate() {
            reached[i + 1] |= reached[i] && is_many(part);
        }
    };
    let nowhere = vec![false; pattern.len() + 1];
    let mut reached = nowhere.clone();
    reached[0] = true;
    skip(&mut reached);
    for item in items {
        let mut next = nowhere.clone();
        for (i, part) in pattern.iter().enumerate().filter(|(i, _)| reached[*i]) {
            match is_many(part) {
                true => next[i] |= fits(part, &item),
                false => next[i + 1] |= fits(part, &item),
            }
        }
        skip(&mut next);
        reached = next;
    }
    reached[pattern.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_is_one_of_a_pattern_or_not() {
        for (pattern, yes, no) in [
            (
                "claim.json",
                &["claim.json"][..],
                &["a/claim.json", "claim.jsonl", "claimXjson"][..],
            ),
            (
                "*.patch",
                &["a.patch", ".patch", "a.b.patch"],
                &["a/b.patch", "a.patch~"],
            ),
            (
                "**/*.patch",
                &["a.patch", "a/b.patch", "a/b/c.patch"],
                &["a.patch/b", "patch"],
            ),
            (
                "out/**/log",
                &["out/log", "out/a/log", "out/a/b/log"],
                &["log", "out/log/a", "a/out/log"],
            ),
            ("a?c", &["abc", "aßc"], &["ac", "abbc", "a/c"]),
            ("*", &["a", "*"], &["a/b"]),
            ("**/*", &["a", "a/b/c"], &[]),
            ("a*b*c", &["abc", "aXbYc", "abbbc"], &["acb", "ab"]),
            ("**/a/**/b", &["a/b", "x/a/y/z/b"], &["b", "a"]),
        ] {
            let read = Pattern::read(pattern).unwrap();
            for path in yes {
                assert!(read.matches(path), "{pattern} {path}");
            }
            for path in no {
                assert!(!read.matches(path), "{pattern} {path}");
            }
        }
    }

    #[test]
    fn a_pattern_with_another_meaning_elsewhere_is_refused() {
        for text in [
            "[ab]", "{a,b}", "a\\b", "!a", "a**", "**.patch", "a/b**/c", "out/**", "**",
        ] {
            assert!(Pattern::read(text).is_err(), "{text}");
        }
    }

    #[test]
    fn a_pattern_of_many_wildcards_takes_no_time() {
        let read = Pattern::read(&"*a".repeat(200)).unwrap();
        assert!(!read.matches(&"a".repeat(199)));
        let folders = Pattern::read(&("**/a/".repeat(100) + "b")).unwrap();
        assert!(!folders.matches(&"a/".repeat(60)));
    }
}
