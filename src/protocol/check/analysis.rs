//! Checks that the analysis names what exists and can work, and writes its defaults out.

use super::Checker;
use super::few_tasks::planned_units;
use super::literals::exact;
use crate::protocol::defect::{Code, Defect, Place};
use crate::protocol::draft::{self, Draft};
use crate::protocol::frame::{self, Task};
use crate::protocol::model::{
    Alternative, Analysis, Cluster, Comparison, Effect, Interval, Looks, Multiplicity, Objective,
    OutcomeKind, Secondary, Test,
};
use crate::protocol::source::child;
use crate::units::{Ratio, Share};

/// The level where none is given.
const ALPHA: Share = Share { num: 1, den: 20 };

/// The largest share of missing slots where none is given.
const MISSING_SHARE_MAX: Share = Share { num: 1, den: 10 };

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
        let share = given.missing_share_max.as_ref();
        let missing_share_max = self.share("/analysis/missing_share_max", share);
        let primary = primary_of(&given.primary);
        let slip = self.primary(draft, given, &primary);
        let secondary = self.secondaries(draft, given, &primary, slip.as_deref());
        let descriptive = given.descriptive.as_ref();
        Some(Analysis {
            reference: given.reference.0.clone(),
            treatments: given.treatments.iter().map(|arm| arm.0.clone()).collect(),
            alpha: alpha.unwrap_or(ALPHA),
            cluster: self.cluster(draft, given, tasks),
            inference: given.inference,
            resamples: given.resamples,
            missing_share_max: missing_share_max.unwrap_or(MISSING_SHARE_MAX),
            seal: given.seal.unwrap_or(true),
            primary,
            secondary,
            multiplicity: given.multiplicity.as_ref().map(multiplicity_of),
            looks: given.looks.as_ref().map(|looks| self.looks(given, looks)),
            descriptive: descriptive.map(|given| self.descriptive(draft, given, tasks)),
        })
    }

    /// Checks the comparison that decides; returns why its test cannot be made.
    fn primary(
        &mut self,
        draft: &Draft,
        analysis: &draft::Analysis,
        primary: &Comparison,
    ) -> Option<String> {
        let table = "/analysis/primary";
        let place = Place::Value(child(table, "outcome"));
        self.known_outcome(draft, place, &primary.outcome);
        self.asked_margin(draft, table, primary, analysis.primary.margin);
        self.asked_interval(draft, analysis, table, primary);
        let slip = test_slip(draft, analysis, primary);
        if let Some(slip) = &slip {
            self.refuse(Code::Analysis, Place::Value(child(table, "test")), slip);
        }
        slip
    }

    /// Checks the further comparisons; `slip` is why the primary's test cannot be made.
    fn secondaries(
        &mut self,
        draft: &Draft,
        analysis: &draft::Analysis,
        primary: &Comparison,
        slip: Option<&str>,
    ) -> Vec<Secondary> {
        let ids = analysis
            .secondary
            .iter()
            .enumerate()
            .map(|(i, one)| (format!("/analysis/secondary/{i}/id"), one.id.0.as_str()));
        self.distinct(ids);
        let given = analysis.secondary.iter().enumerate();
        given
            .map(|(i, given)| {
                let table = format!("/analysis/secondary/{i}");
                let comparison = secondary_of(given, primary);
                self.secondary(draft, analysis, &table, given, &comparison, slip);
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
        slip: Option<&str>,
    ) {
        let place = Place::Value(child(table, "outcome"));
        self.known_outcome(draft, place, &comparison.outcome);
        if given.objective.is_some() || given.margin.is_some() {
            self.asked_margin(draft, table, comparison, given.margin);
        }
        if given.interval.is_some() || given.effect.is_some() {
            self.asked_interval(draft, analysis, table, comparison);
        }
        let own = test_slip(draft, analysis, comparison);
        if let Some(own) = own.filter(|own| given.test.is_some() || Some(own.as_str()) != slip) {
            self.refuse(Code::Analysis, Place::Value(child(table, "test")), own);
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
    fn looks(&mut self, analysis: &draft::Analysis, given: &draft::Looks) -> Looks {
        if given.evalue == Some(true) && cluster_of(analysis).field().is_some() {
            self.refuse(
                Code::Analysis,
                Place::Value("/analysis/looks/evalue".to_owned()),
                "an e-value takes tasks for exchangeable; with `cluster` leave it out",
            );
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
        Looks {
            fractions,
            spending: given.spending,
            under_run: given.under_run,
            evalue: given.evalue,
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

    /// Refuses an interval or an effect that cannot be computed from what it is asked of.
    fn asked_interval(
        &mut self,
        draft: &Draft,
        analysis: &draft::Analysis,
        table: &str,
        asked: &Comparison,
    ) {
        let binary = is_binary(draft, &asked.outcome);
        let clustered = cluster_of(analysis).field().is_some();
        let of_pairs = matches!(
            asked.interval,
            Some(Interval::Tango | Interval::Newcombe | Interval::AgrestiMin)
        );
        let ratio = asked.effect == Some(Effect::RatioOfMeans);
        let slip = if of_pairs && (!binary || clustered || draft.repeats() > 1) {
            "this interval is for a binary outcome with one repeat and no cluster; use t_cr2"
        } else if asked.interval == Some(Interval::Fieller) && !ratio {
            "a Fieller interval is for effect = \"ratio_of_means\""
        } else {
            ""
        };
        if !slip.is_empty() {
            let place = Place::Value(format!("{table}/interval"));
            self.refuse(Code::Analysis, place, slip);
        }
        let is_ratio = ratio || asked.effect == Some(Effect::GeometricRatio);
        if is_ratio && asked.objective != Objective::Superiority {
            let place = Place::Value(format!("{table}/effect"));
            let message = "a margin is a difference in the outcome's unit; for this objective use paired_diff";
            self.refuse(Code::Analysis, place, message);
        }
        if asked.effect == Some(Effect::GeometricRatio) && binary {
            let place = Place::Value(format!("{table}/effect"));
            let message = "a geometric ratio needs values above 0, and a binary outcome has zeros";
            self.refuse(Code::Analysis, place, message);
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
            let interval = analysis.primary.interval;
            matches!(
                interval,
                Some(Interval::BootstrapPercentile | Interval::BootstrapBca)
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

/// Returns whether an outcome is binary; one that is not declared is told elsewhere.
fn is_binary(draft: &Draft, outcome: &str) -> bool {
    let found = draft.outcomes.iter().find(|one| one.id.0 == outcome);
    found.is_some_and(|outcome| outcome.kind == OutcomeKind::Binary)
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
    } else if paired && cluster_of(analysis).field().is_some() {
        Some(
            "this test takes tasks for unrelated; with `cluster` use t_cr2 or sign_flip".to_owned(),
        )
    } else {
        None
    }
}

/// Returns whether a hypothesis has one side.
fn looks_one_way(asked: &Comparison) -> bool {
    let one_sided = matches!(
        asked.alternative,
        Some(Alternative::Greater | Alternative::Less)
    );
    one_sided || asked.objective != Objective::Superiority
}

/// Returns which tasks are related.
fn cluster_of(analysis: &draft::Analysis) -> Cluster {
    match analysis.cluster.as_deref() {
        None | Some("none") => Cluster::None,
        Some(field) => Cluster::Field(field.to_owned()),
    }
}

/// Returns the comparison that decides; a margin that cannot be read is told elsewhere.
fn primary_of(given: &draft::Comparison) -> Comparison {
    Comparison {
        outcome: given.outcome.0.clone(),
        estimand: given.estimand,
        effect: given.effect,
        test: given.test,
        interval: given.interval,
        alternative: given.alternative,
        objective: given.objective,
        margin: given.margin.and_then(exact),
    }
}

/// Returns a further comparison; what it leaves out is the primary's.
fn secondary_of(given: &draft::Secondary, primary: &Comparison) -> Comparison {
    // One that is to show something else does not take the primary's margin.
    let inherited = given.objective.is_none().then_some(primary.margin);
    Comparison {
        outcome: given.outcome.0.clone(),
        estimand: given.estimand.unwrap_or(primary.estimand),
        effect: given.effect.or(primary.effect),
        test: given.test.unwrap_or(primary.test),
        interval: given.interval.or(primary.interval),
        alternative: given.alternative.or(primary.alternative),
        objective: given.objective.unwrap_or(primary.objective),
        margin: given.margin.and_then(exact).or(inherited.flatten()),
    }
}

fn multiplicity_of(given: &draft::Multiplicity) -> Multiplicity {
    Multiplicity {
        method: given.method,
        gate: given.gate,
    }
}
