//! Words that every section needs: counts, lists, names.

use std::collections::BTreeMap;

use super::page::code;
use crate::protocol::model::FieldKind;

/// Counts in words: `1 task`, `2 tasks`.
pub(super) fn counted(count: u64, one: &str, many: &str) -> String {
    match count {
        1 => format!("1 {one}"),
        count => format!("{count} {many}"),
    }
}

/// Counts occasions in words: `once`, `twice`, `3 times`.
pub(super) fn times(count: u64) -> String {
    match count {
        1 => "once".to_owned(),
        2 => "twice".to_owned(),
        count => format!("{count} times"),
    }
}

/// Writes a fraction as people write numbers: as a decimal, where that is no longer than 15 digits.
pub(in crate::report) fn decimal(num: u64, den: u64) -> String {
    let fraction = format!("{num}/{den}");
    let (Some(whole), Some(rest)) = (num.checked_div(den), num.checked_rem(den)) else {
        return fraction;
    };
    let (mut decimals, mut rest) = (String::new(), u128::from(rest));
    while rest > 0 && decimals.len() < 15 {
        rest *= 10;
        decimals.push_str(&(rest / u128::from(den)).to_string());
        rest %= u128::from(den);
    }
    match (rest, decimals.as_str()) {
        (0, "") => whole.to_string(),
        (0, decimals) => format!("{whole}.{decimals}"),
        _ => fraction,
    }
}

/// Joins words: `a`, `a and b`, `a, b and c`.
pub(super) fn listed(words: &[String]) -> String {
    match words {
        [] => String::new(),
        [only] => only.clone(),
        [rest @ .., last] => format!("{} and {last}", rest.join(", ")),
    }
}

/// Joins names as code.
pub(super) fn names<S: AsRef<str>>(names: impl IntoIterator<Item = S>) -> String {
    let names: Vec<String> = names.into_iter().map(|name| code(name.as_ref())).collect();
    listed(&names)
}

/// Joins declared fields, each with its type.
pub(super) fn declared(fields: &BTreeMap<String, FieldKind>) -> String {
    let each: Vec<String> = fields
        .iter()
        .map(|(name, kind)| format!("{} ({})", code(name), kind_of(*kind)))
        .collect();
    listed(&each)
}

/// Says the type of a declared field.
fn kind_of(kind: FieldKind) -> &'static str {
    match kind {
        FieldKind::Integer => "an integer",
        FieldKind::Number => "a number",
        FieldKind::String => "a text",
        FieldKind::Boolean => "true or false",
        FieldKind::Time => "a time",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fraction_is_a_decimal_where_one_ends() {
        let cases = [
            (1, 20, "0.05"),
            (1, 1_000_000, "0.000001"),
            (0, 1, "0"),
            (7, 1, "7"),
            (3, 2, "1.5"),
            (1, 1_000_000_000_000_000, "0.000000000000001"),
            (1, 3, "1/3"),
            (1, 0, "1/0"),
        ];
        for (num, den, text) in cases {
            assert_eq!(decimal(num, den), text);
        }
    }

    #[test]
    fn counts_and_lists_read_as_english() {
        assert_eq!(counted(1, "slot", "slots"), "1 slot");
        assert_eq!(counted(0, "slot", "slots"), "0 slots");
        assert_eq!(times(2), "twice");
        let three = ["a", "b", "c"].map(str::to_owned);
        assert_eq!(names(&three), "`a`, `b` and `c`");
        assert_eq!(names(&three[..1]), "`a`");
    }
}
