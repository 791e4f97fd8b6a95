//! The classes of a ranked draw: regular expressions over task ids, of which the first match decides.
//!
//! Within a class the first capture decides, as an integer of any length; an id whose match captured
//! no digits counts as 0. What no class matches comes last.

use regex::bytes::{Regex, RegexBuilder};

/// The most memory that a compiled class may take, in bytes.
const COMPILED_MAX: usize = 1 << 20;

/// The classes of a ranked draw.
#[derive(Debug, Default)]
pub(super) struct Classes(Vec<Regex>);

/// Where a task stands in a ranked draw; ranks are compared field by field.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Rank {
    /// The class, from 0; one more than the last for what none matches.
    class: usize,
    /// How many digits the captured integer has without leading zeros.
    digits: usize,
    /// Those digits.
    integer: Vec<u8>,
}

impl Classes {
    /// Reads classes; says why the first that cannot be read cannot.
    ///
    /// Ids are ASCII, and so are the classes' words for letters and digits.
    pub(super) fn read(classes: &[String]) -> Result<Self, String> {
        let read = |text: &String| {
            let built = RegexBuilder::new(text)
                .unicode(false)
                .size_limit(COMPILED_MAX)
                .build();
            built.map_err(|error| plain(&error))
        };
        classes.iter().map(read).collect::<Result<_, _>>().map(Self)
    }

    /// Returns where an id stands.
    pub(super) fn rank(&self, id: &str) -> Rank {
        let matched = |(class, regex): (usize, &Regex)| {
            let captured = regex.captures(id.as_bytes())?;
            let text = captured.get(1).map_or(&b""[..], |found| found.as_bytes());
            Some((class, text.to_vec()))
        };
        let mut classes = self.0.iter().enumerate();
        let (class, text) = classes
            .find_map(matched)
            .unwrap_or((self.0.len(), Vec::new()));
        let is_integer = text.iter().all(u8::is_ascii_digit);
        let zeros = text.iter().take_while(|digit| **digit == b'0').count();
        let integer = if is_integer {
            text[zeros..].to_vec()
        } else {
            Vec::new()
        };
        Rank {
            class,
            digits: integer.len(),
            integer,
        }
    }
}

/// Returns why a class cannot be read, as one plain sentence.
fn plain(error: &regex::Error) -> String {
    match error {
        regex::Error::CompiledTooBig(_) => "it is too large".to_owned(),
        error => {
            // The last line says why; those before draw where.
            let text = error.to_string();
            let reason = text.lines().last().unwrap_or_default();
            reason.strip_prefix("error: ").unwrap_or(reason).to_owned()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sorted<'a>(classes: &[&str], ids: &[&'a str]) -> Vec<&'a str> {
        let classes: Vec<String> = classes.iter().map(|class| (*class).to_owned()).collect();
        let classes = Classes::read(&classes).unwrap();
        let mut ids = ids.to_vec();
        ids.sort_by_key(|id| (classes.rank(id), *id));
        ids
    }

    #[test]
    fn the_first_class_that_matches_decides() {
        let ids = [
            "x-1",
            "MB-10",
            "MB-9",
            "CDB-2",
            "MB-99999999999999999999999",
            "MB-007",
            "MB-7",
            "CDB-10",
            "MB-x",
        ];
        assert_eq!(
            sorted(&["^CDB-", "^MB-([0-9]+)$"], &ids),
            [
                "CDB-10",
                "CDB-2",
                "MB-007",
                "MB-7",
                "MB-9",
                "MB-10",
                "MB-99999999999999999999999",
                "MB-x",
                "x-1"
            ]
        );
    }

    #[test]
    fn what_captures_no_integer_comes_first_in_its_class() {
        assert_eq!(sorted(&["^a(.*)$"], &["a2", "ab", "a"]), ["a", "ab", "a2"]);
    }

    #[test]
    fn what_is_no_expression_is_named() {
        let classes = ["^ok$".to_owned(), "(".to_owned()];
        assert_eq!(Classes::read(&classes).unwrap_err(), "unclosed group");
        let large = ["(a{1000}){1000}".to_owned()];
        assert_eq!(Classes::read(&large).unwrap_err(), "it is too large");
    }
}
