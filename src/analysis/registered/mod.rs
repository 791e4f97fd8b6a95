//! The answer that a protocol registered, from what became of its slots.
//!
//! - `observed`: the slots; `pairs`: from them to one value per task and arm;
//! - `hypothesis` makes the test, `interval` the effect with its interval, `compare` a whole comparison;
//! - `family`: how several tests share the level, and what may decide; `looks`: the schedule;
//! - `flow`, `tipping`, `describe`, `costs`: what is missing, how much it could turn, and what else is seen;
//! - `answer`: the shape of it all.

pub mod answer;
mod compare;
mod costs;
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

use answer::{Answer, ControlAnswer};
use compare::Made;
use describe::share;
use observed::Observed;
use pairs::{Cells, Contrast};

use crate::analysis::described::controls::{self, ControlResult};
use crate::analysis::resampling::stream::Streams;
use crate::protocol::model::{Analysis, Comparison, Expect, Protocol};
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
        if let Some(looks) = &analysis.looks {
            for made in &mut primary {
                made.tasks = looks::analysed(made, looks, observed.taken);
            }
        }
        let analysed = primary.first().map_or(cells.tasks(), |made| made.tasks);
        let others = analysis.secondary.iter();
        let others = others.flat_map(|one| self.made(&cells, &one.id, &one.comparison));
        // Once a look has ended the study, no task is compared that it did not see.
        let others = others.map(|made| Made {
            tasks: match observed.taken.stops {
                true => analysed,
                false => made.tasks,
            },
            ..made
        });
        let looks = analysis.looks.as_ref();
        let looks = looks.map_or_else(Vec::new, |looks| {
            let each = primary.iter();
            each.filter_map(|made| looks::table(made, looks, observed.taken))
                .collect()
        });
        let compared = self.compared();
        let outcome = self.place(&analysis.primary.outcome);
        let flow = flow::flow(self, observed, &cells, &compared, outcome, analysed);
        let controls: Vec<ControlAnswer> = observed.controls.iter().map(control).collect();
        let computed = family::Computed {
            primary: primary.iter().map(Made::answer).collect(),
            secondary: others.map(|made| made.answer()).collect(),
            looks,
            scheduled: analysis.looks.is_some(),
            stopped: observed.taken.stops,
        };
        let decided = family::decide(self, computed, &flow, &controls);
        Answer {
            verdict: decided.verdict,
            alpha: analysis.alpha,
            cluster: analysis.cluster.field().map(str::to_owned),
            repeats,
            inference: analysis.inference,
            flow,
            controls,
            primary: decided.computed.primary,
            secondary: decided.computed.secondary,
            multiplicity: analysis.multiplicity.as_ref().map(|rule| rule.method),
            looks: decided.computed.looks,
            arms: describe::arms(self.protocol, analysis, observed),
            described: analysis
                .treatments
                .iter()
                .map(|treatment| describe::pair(self, &cells, treatment))
                .collect(),
        }
    }

    /// Returns whether a scheduled look, from 1, ends a study of so many drawn tasks: it rejects, and not more is
    /// missing than the registration allows. `observed` has its tasks alone. None where no looks are registered.
    pub fn stops_at(&self, observed: &Observed, look: usize, drawn: usize) -> Option<bool> {
        let looks = self.analysis.looks.as_ref()?;
        let observed = &observed.opened();
        let clustered = self.analysis.cluster.field().is_some();
        let cells = Cells::new(observed, self.protocol.arms.len(), clustered);
        let made = self.made(&cells, PRIMARY, &self.analysis.primary);
        let made = made.first()?;
        let (missing, slots) = flow::missing(
            observed,
            &self.compared(),
            made.compared.place,
            cells.tasks(),
        );
        let most = self.analysis.missing_share_max;
        let stops =
            !flow::is_too_much(missing, slots, most) && looks::stops(made, looks, look, drawn);
        Some(stops)
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
        let of_treatment = |treatment: &'c String| Made {
            cells,
            id,
            comparison,
            tasks: cells.tasks(),
            compared: Contrast {
                reference,
                treatment: self.arm(treatment),
                place: self.place(&outcome.id),
                outcome,
            },
            arms: [&self.analysis.reference, treatment],
            alpha: share(self.analysis.alpha.num, self.analysis.alpha.den),
            resamples: self.analysis.resamples.into(),
            streams: self.streams(id, treatment),
            threads: self.threads,
            decides_alone: id == PRIMARY && !several && self.analysis.looks.is_none(),
        };
        treatments.map(of_treatment).collect()
    }

    /// Returns what is drawn from for an analysis of a treatment.
    fn streams(&self, id: &str, treatment: &str) -> Streams {
        let hash = self.digest.to_string();
        match self.analysis.treatments.len() {
            0 | 1 => Streams::new(&hash, id),
            _ => Streams::new(&hash, &format!("{id}:{treatment}")),
        }
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

fn control(seen: &observed::ControlVerdicts) -> ControlAnswer {
    let kind = match seen.expect {
        Expect::AllResolved => controls::Demand::MustPass,
        Expect::NoneResolved => controls::Demand::MustFail,
    };
    let times = |verdict, count| (0..count).map(move |_| verdict);
    let verdicts = times(true, seen.yes).chain(times(false, seen.no));
    ControlAnswer {
        id: seen.id.clone(),
        unjudged: seen.unjudged,
        result: ControlResult::from_verdicts(kind, verdicts),
    }
}
