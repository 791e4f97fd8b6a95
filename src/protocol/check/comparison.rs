//! Why a comparison cannot be made as it is asked for: what its words do not fit.

use crate::protocol::draft::{self, Draft};
use crate::protocol::model::{
    Alternative, Cluster, Comparison, Effect, Interval, Objective, OutcomeKind, Test,
};

/// Returns whether an outcome is binary; one that is not declared is told elsewhere.
pub(super) fn is_binary(draft: &Draft, outcome: &str) -> bool {
    let found = draft.outcomes.iter().find(|one| one.id.0 == outcome);
    found.is_some_and(|outcome| outcome.kind == OutcomeKind::Binary)
}

/// The keys of a comparison that may not fit the others.
pub(super) const TEST: &str = "test";
pub(super) const INTERVAL: &str = "interval";
const EFFECT: &str = "effect";

/// Why a comparison cannot be made as it is asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Slip {
    /// The key that is to be changed.
    pub(super) key: &'static str,
    pub(super) message: String,
}

/// Returns why a comparison cannot be made.
pub(super) fn slips(draft: &Draft, analysis: &draft::Analysis, asked: &Comparison) -> Vec<Slip> {
    let found = [
        (INTERVAL, interval_slip(draft, analysis, asked)),
        (EFFECT, effect_slip(draft, asked)),
    ];
    let found = found.into_iter();
    let found = found.filter_map(|(key, message)| Some((key, message?.to_owned())));
    let test = test_slip(draft, analysis, asked).map(|message| (TEST, message));
    let all = found.chain(test);
    all.map(|(key, message)| Slip { key, message }).collect()
}

/// Says why an interval cannot be computed from what it is asked of.
fn interval_slip(
    draft: &Draft,
    analysis: &draft::Analysis,
    asked: &Comparison,
) -> Option<&'static str> {
    match asked.interval {
        Interval::Tango | Interval::Newcombe | Interval::AgrestiMin
            if !fits_pairs(draft, analysis, asked) =>
        {
            Some(
                "this interval is for the difference of a binary outcome with one repeat and no cluster; use t_cr2",
            )
        }
        Interval::Fieller if asked.effect != Effect::RatioOfMeans => {
            Some("a Fieller interval is for effect = \"ratio_of_means\"")
        }
        Interval::Fieller if is_clustered(analysis) => {
            Some("a Fieller interval takes tasks for unrelated; with `cluster` use t_cr2")
        }
        _ => None,
    }
}

/// Says why an effect cannot be computed from what it is asked of.
fn effect_slip(draft: &Draft, asked: &Comparison) -> Option<&'static str> {
    let geometric = asked.effect == Effect::GeometricRatio;
    let ratio = geometric || asked.effect == Effect::RatioOfMeans;
    if ratio && asked.objective != Objective::Superiority {
        Some("a margin is a difference in the outcome's unit; for this objective use paired_diff")
    } else if geometric && is_binary(draft, &asked.outcome) {
        Some("a geometric ratio needs values above 0, and a binary outcome has zeros")
    } else {
        None
    }
}

/// Says why a test cannot be made on what it is asked of.
fn test_slip(draft: &Draft, analysis: &draft::Analysis, asked: &Comparison) -> Option<String> {
    let outcome = draft.outcomes.iter().find(|one| one.id.0 == asked.outcome);
    let binary = outcome.is_none_or(|outcome| outcome.kind == OutcomeKind::Binary);
    let mcnemar = matches!(asked.test, Test::McnemarExact | Test::McnemarMid);
    let paired = mcnemar || asked.test == Test::Wilcoxon;
    let repeats = draft.repeats();
    if mcnemar && !binary {
        Some("a McNemar test needs a binary outcome".to_owned())
    } else if mcnemar && repeats > 1 {
        Some(format!(
            "a McNemar test needs one repeat of each task, and here are {repeats}; use sign_flip or t_cr2"
        ))
    } else if mcnemar && asked.objective != Objective::Superiority {
        Some("a McNemar test has no margin; for this objective use t_cr2 or sign_flip".to_owned())
    } else if asked.test == Test::SignFlip && !binary && looks_one_way(asked) {
        Some(
            "a sign flip of numbers is drawn in both directions; for one direction use t_cr2"
                .to_owned(),
        )
    } else if paired && is_clustered(analysis) {
        Some(
            "this test takes tasks for unrelated; with `cluster` use t_cr2 or sign_flip".to_owned(),
        )
    } else {
        None
    }
}

/// Returns whether a hypothesis has one side.
fn looks_one_way(asked: &Comparison) -> bool {
    asked.alternative != Alternative::TwoSided || asked.objective != Objective::Superiority
}

/// Returns whether a comparison is one of paired shares: of a binary outcome, with one repeat and no cluster.
pub(super) fn fits_pairs(draft: &Draft, analysis: &draft::Analysis, asked: &Comparison) -> bool {
    let binary = is_binary(draft, &asked.outcome);
    let difference = asked.effect == Effect::PairedDiff;
    binary && difference && !is_clustered(analysis) && draft.repeats() == 1
}

/// Returns whether some tasks are related.
pub(super) fn is_clustered(analysis: &draft::Analysis) -> bool {
    cluster_of(analysis).field().is_some()
}

/// Returns which tasks are related.
pub(super) fn cluster_of(analysis: &draft::Analysis) -> Cluster {
    match analysis.cluster.as_deref() {
        None | Some("none") => Cluster::None,
        Some(field) => Cluster::Field(field.to_owned()),
    }
}
