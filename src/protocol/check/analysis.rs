//! Checks that the analysis names what exists and can work, and writes its defaults out.

use std::num::NonZeroU32;

use super::Checker;
use super::comparison::{INTERVAL, Slip, TEST, cluster_of, is_binary, slips};
use super::comparison_defaults::{primary_of, secondary_of};
use super::few_tasks::planned_units;
use crate::protocol::defect::{Code, Defect, Place};
use crate::protocol::draft::{self, Draft};
use crate::protocol::frame::{self, Task};
use crate::protocol::model::{
    Alternative, Analysis, Cluster, Comparison, Gate, Inference, Interval, Looks, Multiplicity,
    Objective, Secondary, UnderRun,
};
use crate::protocol::source::child;
use crate::units::{Ratio, Share};

/// The level where none is given.
const ALPHA: Share = Share { num: 1, den: 20 };

/// The largest share of missing slots where none is given.
const MISSING_SHARE_MAX: Share = Share { num: 1, den: 10 };

/// How many resamples a resampling method takes where nothing is said.
const RESAMPLES: NonZeroU32 = NonZeroU32::new(9_999).unwrap();

/// The most looks whose level can be shared.
const LOOKS_MAX: usize = 50;

/// The smallest distance of a look from the one before it: one part of so many of where it is.
const LOOK_GAP_PARTS: u128 = 10_000;

/// The fewest units whose bootstrap may decide.
const RESAMPLED_UNITS_MIN: usize = 20;

impl Checker<'_> {
    /// Checks how the answer is computed.
    pub(super) fn analysis(&mut self, draft: &Draft, tasks: &[Task]) -> Option<Analysis> {
        let Some(given) = &draft.analysis else {
            if !draft.is_matrix() && !self.was_refused("/analysis") {
                self.missing(
                    "",
                    "analysis",
                    "how the answer is computed from the outcomes",
                );
            }
            return None;
        };
        self.compared(draft, given);
        self.multiplicity(given);
        let alpha = given.alpha;
        let alpha = alpha.and_then(|alpha| self.exact("/analysis/alpha", alpha));
        let resamples = given.resamples.and_then(NonZeroU32::new);
        let share = given.missing_share_max.as_ref();
        let missing_share_max = self.share("/analysis/missing_share_max", share);
        let primary = primary_of(draft, given);
        let slips = self.primary(draft, given, &primary);
        let secondary = self.secondaries(draft, given, &primary, &slips);
        let descriptive = given.descriptive.as_ref();
        Some(Analysis {
            reference: given.reference.0.clone(),
            treatments: given.treatments.iter().map(|arm| arm.0.clone()).collect(),
            alpha: alpha.unwrap_or(ALPHA),
            cluster: self.cluster(draft, given, tasks),
            inference: given.inference.unwrap_or(Inference::TasksSampled),
            resamples: resamples.unwrap_or(RESAMPLES),
            missing_share_max: missing_share_max.unwrap_or(MISSING_SHARE_MAX),
            seal: given.seal.unwrap_or(true),
            primary,
            secondary,
            multiplicity: given.multiplicity.as_ref().map(multiplicity_of),
            looks: given
                .looks
                .as_ref()
                .map(|looks| self.looks(draft, given, looks)),
            descriptive: descriptive.map(|given| self.descriptive(draft, given, tasks)),
        })
    }

    /// Checks the comparison that decides; returns why it cannot be made.
    fn primary(
        &mut self,
        draft: &Draft,
        analysis: &draft::Analysis,
        primary: &Comparison,
    ) -> Vec<Slip> {
        let table = "/analysis/primary";
        let place = Place::Value(child(table, "outcome"));
        self.known_outcome(draft, place, &primary.outcome);
        self.asked_margin(draft, table, primary, analysis.primary.margin);
        self.asked_direction(table, primary, analysis.primary.alternative);
        let slips = slips(draft, analysis, primary);
        for slip in &slips {
            self.refuse(
                Code::Analysis,
                Place::Value(child(table, slip.key)),
                &slip.message,
            );
        }
        slips
    }

    /// Checks the further comparisons; `of_primary` is why the primary one cannot be made.
    fn secondaries(
        &mut self,
        draft: &Draft,
        analysis: &draft::Analysis,
        primary: &Comparison,
        of_primary: &[Slip],
    ) -> Vec<Secondary> {
        let ids = analysis
            .secondary
            .iter()
            .enumerate()
            .map(|(i, one)| (format!("/analysis/secondary/{i}/id"), one.id.0.as_str()));
        self.distinct(ids);
        for (i, one) in analysis.secondary.iter().enumerate() {
            if one.id.0 == "primary" {
                let place = Place::Value(format!("/analysis/secondary/{i}/id"));
                let message =
                    "`primary` is the comparison that decides; give this one another name";
                self.refuse(Code::DuplicateId, place, message);
            }
        }
        let given = analysis.secondary.iter().enumerate();
        given
            .map(|(i, given)| {
                let table = format!("/analysis/secondary/{i}");
                let comparison = secondary_of(draft, analysis, given, primary);
                self.secondary(draft, analysis, &table, given, &comparison, of_primary);
                Secondary {
                    id: given.id.0.clone(),
                    comparison,
                }
            })
            .collect()
    }

    /// Checks what a further comparison asks for itself; the rest is told at the primary.
    fn secondary(
        &mut self,
        draft: &Draft,
        analysis: &draft::Analysis,
        table: &str,
        given: &draft::Secondary,
        comparison: &Comparison,
        of_primary: &[Slip],
    ) {
        let place = Place::Value(child(table, "outcome"));
        self.known_outcome(draft, place, &comparison.outcome);
        if given.objective.is_some() || given.margin.is_some() {
            self.asked_margin(draft, table, comparison, given.margin);
        }
        self.asked_direction(table, comparison, given.alternative);
        let is_given = |key| match key {
            TEST => given.test.is_some(),
            INTERVAL => given.interval.is_some(),
            _ => given.effect.is_some(),
        };
        for slip in slips(draft, analysis, comparison) {
            if is_given(slip.key) || !of_primary.contains(&slip) {
                self.refuse(
                    Code::Analysis,
                    Place::Value(child(table, slip.key)),
                    slip.message,
                );
            }
        }
    }

    fn compared(&mut self, draft: &Draft, analysis: &draft::Analysis) {
        let reference = &analysis.reference.0;
        let place = Place::Value("/analysis/reference".to_owned());
        self.known_arm(draft, place, reference);
        let treatments: Vec<&str> = analysis
            .treatments
            .iter()
            .map(|arm| arm.0.as_str())
            .collect();
        self.arm_list(draft, "/analysis/treatments", &treatments);
        for (i, treatment) in treatments.iter().enumerate() {
            if treatment == reference {
                self.refuse(
                    Code::Analysis,
                    Place::Value(format!("/analysis/treatments/{i}")),
                    format!("`{treatment}` is the reference; it cannot be compared with itself"),
                );
            }
        }
    }

    /// Reads which tasks are related.
    fn cluster(&mut self, draft: &Draft, analysis: &draft::Analysis, tasks: &[Task]) -> Cluster {
        let cluster = cluster_of(analysis);
        if let Some(field) = cluster.field() {
            let message = format!("`{field}` is not a field of the tasks, nor \"none\"");
            let place = Place::Value("/analysis/cluster".to_owned());
            self.task_field(draft, tasks, place, field, message);
        }
        cluster
    }

    /// Refuses a name that no field of the tasks has, neither in the frame nor as declared.
    pub(super) fn task_field(
        &mut self,
        draft: &Draft,
        tasks: &[Task],
        place: Place,
        field: &str,
        message: String,
    ) {
        let mut fields = frame::field_names(tasks);
        let declared = draft.tasks.fields.iter().flatten();
        fields.extend(declared.map(|(name, _)| name.clone()));
        if fields.is_empty() || fields.iter().any(|name| name == field) {
            return;
        }
        let known: Vec<&str> = fields.iter().map(String::as_str).collect();
        self.unknown(Code::Analysis, place, message, field, &known);
    }

    /// Reads the looks, which are at ever larger shares of the drawn tasks.
    fn looks(&mut self, draft: &Draft, analysis: &draft::Analysis, given: &draft::Looks) -> Looks {
        if given.evalue == Some(true) && cluster_of(analysis).field().is_some() {
            self.refuse(
                Code::Analysis,
                Place::Value("/analysis/looks/evalue".to_owned()),
                "an e-value takes tasks for exchangeable; with `cluster` leave it out",
            );
        }
        if analysis.treatments.len() > 1 {
            let message = "looks at several treatments would share no level; leave them out, or compare one treatment";
            self.refuse(
                Code::Analysis,
                Place::Key("/analysis/looks".to_owned()),
                message,
            );
        }
        if draft
            .draw
            .as_ref()
            .is_some_and(|draw| draw.grows == Some(true))
        {
            let message = "looks are at shares of the draw, and a draw that grows has no end to share; leave out one of the two";
            self.refuse(
                Code::Analysis,
                Place::Key("/analysis/looks".to_owned()),
                message,
            );
        }
        if given.fractions.len() > LOOKS_MAX {
            let place = Place::Value("/analysis/looks/fractions".to_owned());
            let message = format!("there are more than {LOOKS_MAX} looks; take fewer");
            self.refuse(Code::Range, place, message);
        }
        let mut before = 0.0;
        let mut fractions = Vec::new();
        for (i, fraction) in given.fractions.iter().enumerate() {
            let place = format!("/analysis/looks/fractions/{i}");
            if *fraction > before && *fraction <= 1.0 {
                fractions.extend(self.exact::<Share>(&place, *fraction));
            } else {
                let message = format!(
                    "`{fraction}` is out of order: looks are at shares of the drawn tasks, each above the one before it and at most 1"
                );
                self.refuse(Code::Range, Place::Value(place), message);
            }
            before = fraction.max(before);
        }
        if fractions.windows(2).any(are_too_close) {
            let place = Place::Value("/analysis/looks/fractions".to_owned());
            let message = "two looks are so close that the level cannot be shared between them; take one of them";
            self.refuse(Code::Range, place, message);
        }
        Looks {
            fractions,
            spending: given.spending,
            under_run: given.under_run.unwrap_or(UnderRun::SpendToT),
            evalue: given.evalue.unwrap_or(false),
        }
    }

    /// Refuses secondaries and several treatments that share no level.
    fn multiplicity(&mut self, analysis: &draft::Analysis) {
        let several = !analysis.secondary.is_empty() || analysis.treatments.len() > 1;
        if several && analysis.multiplicity.is_none() && !self.was_refused("/analysis/multiplicity")
        {
            let message = "several comparisons need a rule by which they share the level";
            self.push(
                Defect::new(Code::Analysis, Place::Key("/analysis".to_owned()), message)
                    .note("write [analysis.multiplicity] with method = \"holm\""),
            );
        }
    }

    /// Refuses looks that see no task, or none more than the look before.
    pub(super) fn looks_apart(&mut self, analysis: Option<&Analysis>, drawn: usize) {
        let looks = analysis.and_then(|analysis| analysis.looks.as_ref());
        let shares = looks.map_or(&[][..], |looks| &looks.fractions);
        let mut before = 0;
        for (i, share) in shares.iter().enumerate() {
            let tasks = share.floor_of(drawn as u64);
            if tasks == before && drawn > 0 {
                let place = Place::Value(format!("/analysis/looks/fractions/{i}"));
                let more = if before == 0 {
                    "no task"
                } else {
                    "no task more than the look before"
                };
                let message = format!(
                    "this share of {drawn} drawn tasks is {tasks}: the look would see {more}; take a larger share"
                );
                self.refuse(Code::Analysis, place, message);
            }
            before = tasks;
        }
    }

    /// Refuses to decide by resampling so few units that the interval is too short.
    pub(super) fn resampled(
        &mut self,
        draft: &Draft,
        analysis: Option<&Analysis>,
        tasks: &[Task],
        drawn: &[usize],
    ) {
        let resampled = analysis.filter(|analysis| {
            matches!(
                analysis.primary.interval,
                Interval::BootstrapPercentile | Interval::BootstrapBca
            )
        });
        let units = resampled.and_then(|analysis| planned_units(draft, analysis, tasks, drawn));
        if let Some(units) = units.filter(|units| *units < RESAMPLED_UNITS_MIN) {
            let place = Place::Value("/analysis/primary/interval".to_owned());
            let message = format!(
                "a bootstrap of {units} units makes intervals that are too short; use t_cr2, or draw at least {RESAMPLED_UNITS_MIN}"
            );
            self.refuse(Code::Analysis, place, message);
        }
    }

    /// Refuses a direction where the objective has its own; `given` is as the table itself has it.
    fn asked_direction(&mut self, table: &str, asked: &Comparison, given: Option<Alternative>) {
        if given.is_some() && asked.objective != Objective::Superiority {
            self.refuse(
                Code::Analysis,
                Place::Value(format!("{table}/alternative")),
                "this objective says itself in which direction the test looks; leave `alternative` out",
            );
        }
    }

    /// Refuses a margin that does not fit its objective; `given` is as the table itself has it.
    fn asked_margin(&mut self, draft: &Draft, table: &str, asked: &Comparison, given: Option<f64>) {
        let margin = Place::Value(format!("{table}/margin"));
        let superiority = asked.objective == Objective::Superiority;
        match given {
            None if superiority || self.was_refused(&format!("{table}/margin")) => {}
            None => self.refuse(
                Code::Analysis,
                Place::Value(format!("{table}/objective")),
                "this objective needs `margin`: the largest difference that does not matter",
            ),
            Some(_) if superiority => self.refuse(
                Code::Analysis,
                margin,
                "superiority has no margin; remove it, or choose another objective",
            ),
            Some(size) if size <= 0.0 => self.refuse(
                Code::Range,
                margin,
                "a margin is more than 0: the largest difference that does not matter",
            ),
            Some(size) if size > 1.0 && is_binary(draft, &asked.outcome) => self.refuse(
                Code::Range,
                margin,
                "two shares differ by at most 1; a margin above that can never be missed",
            ),
            Some(size) => _ = self.exact::<Ratio>(&format!("{table}/margin"), size),
        }
    }
}

/// Returns whether a look lies too near the one before it.
fn are_too_close(looks: &[Share]) -> bool {
    let [before, at] = looks else { return false };
    let wide = |num: u64, den: u64| u128::from(num) * u128::from(den);
    let (at_scaled, before_scaled) = (wide(at.num, before.den), wide(before.num, at.den));
    at_scaled
        .saturating_sub(before_scaled)
        .saturating_mul(LOOK_GAP_PARTS)
        < at_scaled
}

fn multiplicity_of(given: &draft::Multiplicity) -> Multiplicity {
    Multiplicity {
        method: given.method,
        gate: given.gate.unwrap_or(Gate::Primary),
    }
}
