//! What a comparison is with everything written out that it leaves out.

use super::comparison::{fits_pairs, is_clustered};
use super::literals::exact;
use crate::protocol::draft::{self, Draft};
use crate::protocol::model::{Alternative, Better, Comparison, Effect, Interval, Objective};

/// Returns the comparison that decides; a margin that cannot be read is told elsewhere.
pub(super) fn primary_of(draft: &Draft, analysis: &draft::Analysis) -> Comparison {
    let given = &analysis.primary;
    let comparison = Comparison {
        outcome: given.outcome.0.clone(),
        estimand: given.estimand,
        effect: given.effect.unwrap_or(Effect::PairedDiff),
        test: given.test,
        interval: Interval::TCr2,
        alternative: Alternative::TwoSided,
        objective: given.objective,
        margin: given.margin.and_then(exact),
    };
    resolved(
        draft,
        analysis,
        comparison,
        given.interval,
        given.alternative,
    )
}

/// Returns a further comparison; what it leaves out is the primary's, or where that leaves it out, too, its own
/// default.
pub(super) fn secondary_of(
    draft: &Draft,
    analysis: &draft::Analysis,
    given: &draft::Secondary,
    primary: &Comparison,
) -> Comparison {
    // One that is to show something else does not take the primary's margin.
    let inherited = given.objective.is_none().then_some(primary.margin);
    let comparison = Comparison {
        outcome: given.outcome.0.clone(),
        estimand: given.estimand.unwrap_or(primary.estimand),
        effect: given.effect.unwrap_or(primary.effect),
        test: given.test.unwrap_or(primary.test),
        interval: primary.interval,
        alternative: primary.alternative,
        objective: given.objective.unwrap_or(primary.objective),
        margin: given.margin.and_then(exact).or(inherited.flatten()),
    };
    let interval = given.interval.or(analysis.primary.interval);
    let alternative = given.alternative.or(analysis.primary.alternative);
    resolved(draft, analysis, comparison, interval, alternative)
}

/// Writes interval and direction out, of which the defaults follow from the rest.
fn resolved(
    draft: &Draft,
    analysis: &draft::Analysis,
    comparison: Comparison,
    interval: Option<Interval>,
    alternative: Option<Alternative>,
) -> Comparison {
    let default = match comparison.effect {
        Effect::PairedDiff if fits_pairs(draft, analysis, &comparison) => Interval::Tango,
        Effect::RatioOfMeans if !is_clustered(analysis) => Interval::Fieller,
        _ => Interval::TCr2,
    };
    Comparison {
        interval: interval.unwrap_or(default),
        alternative: match comparison.objective {
            Objective::Superiority => alternative.unwrap_or(Alternative::TwoSided),
            Objective::Equivalence => Alternative::TwoSided,
            Objective::NonInferiority => towards(draft, &comparison.outcome),
        },
        ..comparison
    }
}

/// Returns the direction in which an outcome is not worse.
fn towards(draft: &Draft, outcome: &str) -> Alternative {
    let found = draft.outcomes.iter().find(|one| one.id.0 == outcome);
    match found.map(|outcome| outcome.better) {
        Some(Better::Lower) => Alternative::Less,
        _ => Alternative::Greater,
    }
}
