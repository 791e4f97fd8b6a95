//! The answer that a protocol registered, from what became of its slots.
//!
//! - `observed`: the slots; `pairs`: from them to one value per task and arm;
//! - `hypothesis` makes the test, `interval` the effect with its interval, `compare` a whole comparison;
//! - `family`: how several tests share the level, and what may decide; `looks`: the schedule;
//! - `flow`, `tipping`, `describe`: what is missing, how much it could turn, and what else is seen;
//! - `answer`: the shape of it all.

pub mod answer;
mod compare;
mod describe;
mod family;
mod flow;
mod hypothesis;
mod interval;
mod looks;
pub mod observed;
mod pairs;
#[cfg(test)]
mod tests;
mod tipping;

use std::num::NonZeroUsize;

use answer::{Answer, Control};
use compare::Made;
use describe::share;
use observed::Observed;
use pairs::{Cells, Compared};

use crate::analysis::controls::{self, ControlResult};
use crate::analysis::stream::Streams;
use crate::protocol::model::{Analysis, Comparison, Expect, Inference, Protocol};
use crate::units::Digest;

/// How the comparison that decides is called.
pub const PRIMARY: &str = "primary";

/// A registered analysis, and what it is computed with.
#[derive(Clone, Copy, Debug)]
pub struct Registered<'a> {
    /// The protocol.
    pub protocol: &'a Protocol,
    /// Its analysis.
    pub analysis: &'a Analysis,
    /// The registration, from which resampling draws.
    pub digest: Digest,
    /// The most threads to use; the answer is the same with any number.
    pub threads: NonZeroUsize,
}

impl Registered<'_> {
    /// Computes the answer from what became of a study.
    pub fn answer(&self, observed: &Observed) -> Answer {
        let analysis = self.analysis;
        let arms = &self.protocol.arms;
        let observed = &observed.opened();
        let clustered = analysis.cluster.field().is_some();
        let cells = Cells::new(observed, arms.len(), clustered);
        let repeats = cells.repeats();
        let mut primary = self.made(&cells, PRIMARY, &analysis.primary);
        if analysis.looks.is_some() {
            for made in &mut primary {
                made.tasks = looks::closed(made);
            }
        }
        let others = analysis.secondary.iter();
        let others = others.flat_map(|one| self.made(&cells, &one.id, &one.comparison));
        let looks = analysis.looks.as_ref();
        let looks = looks.map_or_else(Vec::new, |looks| {
            let each = primary.iter();
            each.filter_map(|made| looks::table(made, looks)).collect()
        });
        let compared = self.compared();
        let outcome = self.place(&analysis.primary.outcome);
        let flow = flow::flow(
            self.protocol,
            analysis,
            observed,
            &cells,
            &compared,
            outcome,
        );
        let controls: Vec<Control> = observed.controls.iter().map(control).collect();
        let computed = family::Computed {
            primary: primary.iter().map(Made::answer).collect(),
            secondary: others.map(|made| made.answer()).collect(),
            looks,
            scheduled: analysis.looks.is_some(),
        };
        let decided = family::decide(self, computed, &flow, &controls);
        Answer {
            verdict: decided.verdict,
            alpha: analysis.alpha,
            cluster: analysis.cluster.field().map(str::to_owned),
            repeats,
            inference: analysis.inference.unwrap_or(Inference::TasksSampled),
            flow,
            controls,
            primary: decided.computed.primary,
            secondary: decided.computed.secondary,
            multiplicity: analysis.multiplicity.as_ref().map(|rule| rule.method),
            looks: decided.computed.looks,
            arms: describe::arms(self.protocol, analysis, observed),
            described: self
                .treatments()
                .map(|treatment| {
                    let reference = self.arm(&analysis.reference);
                    describe::pair(self.protocol, analysis, &cells, reference, treatment)
                })
                .collect(),
        }
    }

    /// Makes a comparison ready for each treatment.
    fn made<'c>(
        &'c self,
        cells: &'c Cells<'c>,
        id: &'c str,
        comparison: &'c Comparison,
    ) -> Vec<Made<'c>> {
        let Some(outcome) = self.protocol.outcome(&comparison.outcome) else {
            return Vec::new();
        };
        let reference = self.arm(&self.analysis.reference);
        let several = self.analysis.treatments.len() > 1;
        let treatments = self.analysis.treatments.iter();
        let of_treatment = |treatment: &'c String| {
            let stream = match several {
                true => format!("{id}:{treatment}"),
                false => id.to_owned(),
            };
            Made {
                cells,
                id,
                comparison,
                tasks: cells.tasks(),
                compared: Compared {
                    reference,
                    treatment: self.arm(treatment),
                    place: self.place(&outcome.id),
                    outcome,
                },
                arms: [&self.analysis.reference, treatment],
                alpha: share(self.analysis.alpha.num, self.analysis.alpha.den),
                resamples: self.analysis.resamples,
                streams: Streams::new(&self.digest.to_string(), &stream),
                threads: self.threads,
                decides_alone: id == PRIMARY && !several && self.analysis.looks.is_none(),
            }
        };
        treatments.map(of_treatment).collect()
    }

    /// Returns the places of the arms that are compared.
    fn compared(&self) -> Vec<usize> {
        let reference = self.arm(&self.analysis.reference);
        std::iter::once(reference)
            .chain(self.treatments())
            .collect()
    }

    fn treatments(&self) -> impl Iterator<Item = usize> {
        let treatments = self.analysis.treatments.iter();
        treatments.map(|treatment| self.arm(treatment))
    }

    /// Returns an arm's place; the checker has seen that it is declared.
    fn arm(&self, id: &str) -> usize {
        self.protocol.arm(id).unwrap_or(usize::MAX)
    }

    /// Returns an outcome's place; the checker has seen that it is declared.
    fn place(&self, id: &str) -> usize {
        let mut outcomes = self.protocol.outcomes.iter();
        outcomes
            .position(|outcome| outcome.id == id)
            .unwrap_or(usize::MAX)
    }
}

fn control(seen: &observed::Control) -> Control {
    let kind = match seen.expect {
        Expect::AllResolved => controls::Control::MustPass,
        Expect::NoneResolved => controls::Control::MustFail,
    };
    let times = |verdict, count| (0..count).map(move |_| verdict);
    let verdicts = times(true, seen.yes).chain(times(false, seen.no));
    Control {
        id: seen.id.clone(),
        unjudged: seen.unjudged,
        result: ControlResult::from_verdicts(kind, verdicts),
    }
}
