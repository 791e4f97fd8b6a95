//! Who may write to the record. An actor is `kind:name`.

/// Returns whether an actor is of one of the kinds; no kinds at all admit everybody.
///
/// The kind stands at the very beginning, in the case in which it is registered; the name may be
/// empty.
pub fn is_admitted(kinds: &[String], actor: &str) -> bool {
    kinds.is_empty()
        || actor
            .split_once(':')
            .is_some_and(|(kind, _)| kinds.iter().any(|known| known == kind))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kind_stands_at_the_very_beginning() {
        let kinds = ["user".to_owned(), "ci".to_owned()];
        for (actor, admitted) in [
            ("user:ada", true),
            ("ci:", true),
            ("ci:a:b", true),
            ("user", false),
            ("User:ada", false),
            (" user:ada", false),
            ("user :ada", false),
            ("xuser:ada", false),
            ("agent:user:ada", false),
            (":user", false),
            ("", false),
        ] {
            assert_eq!(is_admitted(&kinds, actor), admitted, "`{actor}`");
            assert!(is_admitted(&[], actor), "`{actor}` without kinds");
        }
    }
}
