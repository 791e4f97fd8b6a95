//! What no record can show, whoever verifies it: printed by whatever gives a record out of hand.

/// A limit of every record.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
pub struct Unshown {
    /// Its name, for people to cite.
    pub code: &'static str,
    /// What is not shown, after the word that.
    pub that: &'static str,
}

/// Everything that is not shown.
pub const UNSHOWN: &[Unshown] = &[
    says("N1", "no private runs came before the registration"),
    says("N2", "no other registrations exist beside this one"),
    says("N3", "the machine executed what the record says"),
    says("N4", "times between two published heads are true"),
    says("N5", "a remote model behind a name was the same throughout"),
    says("N6", "the judge is right"),
    says(
        "N7",
        "the arms had equal load, cache and network, beyond what is recorded",
    ),
    says(
        "N8",
        "no process escaped of an arm that was root, or held by its group alone",
    ),
    says("N9", "the disk kept what it said it kept"),
    says("N10", "the outcomes mean what the question asks"),
];

const fn says(code: &'static str, that: &'static str) -> Unshown {
    Unshown { code, that }
}

/// Returns them as lines, under one heading.
pub fn lines() -> String {
    let each = UNSHOWN.iter().enumerate().map(|(at, unshown)| {
        let heading = if at == 0 { "not shown" } else { "" };
        format!("{heading:<11} {:<3} that {}\n", unshown.code, unshown.that)
    });
    each.collect()
}
