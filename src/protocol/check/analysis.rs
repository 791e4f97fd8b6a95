//! Checks that the analysis names what exists and can work.

use serde_json::Value;

use super::Checker;
use crate::protocol::canonical;
use crate::protocol::defect::{Code, Defect, Place};
use crate::protocol::draft::{
    Analysis, Comparison, Draft, Effect, Interval, Objective, OutcomeKind, Secondary, Test,
};
use crate::protocol::frame::{self, Task};
use crate::units::Share;

/// Keys of a comparison with its pointer; what a secondary leaves out is the primary's.
struct Asked<'d> {
    table: String,
    outcome: &'d str,
    test: Option<Test>,
    objective: Option<Objective>,
    margin: Option<f64>,
    effect: Option<Effect>,
    interval: Option<Interval>,
}

impl Checker<'_> {
    /// Checks the analysis; returns it with its defaults written out.
    pub(super) fn analysis(
        &mut self,
        draft: &Draft,
        value: &Value,
        tasks: &[Task],
    ) -> Option<Value> {
        let Some(analysis) = &draft.analysis else {
            if !draft.is_matrix() && !self.was_refused("/analysis") {
                self.missing(
                    "",
                    "analysis",
                    "how the answer is computed from the outcomes",
                );
            }
            return None;
        };
        self.compared(draft, analysis);
        self.cluster(draft, analysis, tasks);
        self.looks(analysis);
        let share = self.share(
            "/analysis/missing_share_max",
            analysis.missing_share_max.as_ref(),
        );
        let slip = self.primary(draft, analysis);
        self.secondaries(draft, analysis, slip.as_deref());
        self.passes(draft, analysis);
        self.multiplicity(analysis);
        self.subgroups(draft, analysis, tasks);
        Some(with_defaults(value.get("analysis")?, share))
    }

    /// Checks the comparison that decides; returns why its test cannot be made.
    fn primary(&mut self, draft: &Draft, analysis: &Analysis) -> Option<String> {
        let primary = &analysis.primary;
        let table = "/analysis/primary";
        let asked = of_primary(primary);
        let place = Place::Value(format!("{}/outcome", asked.table));
        self.known_outcome(draft, place, asked.outcome);
        self.asked_margin(draft, &asked);
        self.asked_interval(draft, analysis, &asked);
        let slip = test_slip(draft, analysis, &asked);
        if let Some(slip) = &slip {
            let place = Place::Value(format!("{table}/test"));
            self.refuse(Code::Analysis, place, slip);
        }
        slip
    }

    /// Checks the further comparisons; `slip` is why the primary's test cannot be made.
    fn secondaries(&mut self, draft: &Draft, analysis: &Analysis, slip: Option<&str>) {
        let ids = analysis
            .secondary
            .iter()
            .enumerate()
            .map(|(i, one)| (format!("/analysis/secondary/{i}/id"), one.id.0.as_str()));
        self.distinct(ids);
        for (i, secondary) in analysis.secondary.iter().enumerate() {
            let asked = of_secondary(i, secondary, &analysis.primary);
            let place = Place::Value(format!("{}/outcome", asked.table));
            self.known_outcome(draft, place, asked.outcome);
            if secondary.objective.is_some() || secondary.margin.is_some() {
                self.asked_margin(draft, &asked);
            }
            if secondary.interval.is_some() || secondary.effect.is_some() {
                self.asked_interval(draft, analysis, &asked);
            }
            // What the primary's test cannot do is told there.
            let own = test_slip(draft, analysis, &asked);
            if let Some(own) =
                own.filter(|own| secondary.test.is_some() || Some(own.as_str()) != slip)
            {
                let place = Place::Value(format!("{}/test", asked.table));
                self.refuse(Code::Analysis, place, own);
            }
        }
    }

    fn compared(&mut self, draft: &Draft, analysis: &Analysis) {
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

    fn cluster(&mut self, draft: &Draft, analysis: &Analysis, tasks: &[Task]) {
        let Some(field) = analysis.cluster.as_deref().filter(|field| *field != "none") else {
            return;
        };
        let message = format!("`{field}` is not a field of the tasks, nor \"none\"");
        let place = Place::Value("/analysis/cluster".to_owned());
        self.task_field(draft, tasks, place, field, message);
    }

    /// Refuses a name that no field of the tasks has, neither in the frame nor as declared.
    fn task_field(
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

    /// Refuses looks that are not at ever larger shares of the drawn tasks.
    fn looks(&mut self, analysis: &Analysis) {
        let fractions = analysis.looks.iter().flat_map(|looks| &looks.fractions);
        let mut before = 0.0;
        for (i, fraction) in fractions.enumerate() {
            if !(*fraction > before && *fraction <= 1.0) {
                let place = Place::Value(format!("/analysis/looks/fractions/{i}"));
                let message = format!(
                    "`{fraction}` is out of order: looks are at shares of the drawn tasks, each above the one before it and at most 1"
                );
                self.refuse(Code::Range, place, message);
            }
            before = fraction.max(before);
        }
    }

    /// Refuses secondaries and several treatments that share no level.
    fn multiplicity(&mut self, analysis: &Analysis) {
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

    /// Refuses subgroups by a field that tasks do not have.
    fn subgroups(&mut self, draft: &Draft, analysis: &Analysis, tasks: &[Task]) {
        let descriptive = analysis.descriptive.as_ref();
        let fields = descriptive.and_then(|descriptive| descriptive.subgroups.as_ref());
        for (i, field) in fields.into_iter().flatten().enumerate() {
            let place = Place::Value(format!("/analysis/descriptive/subgroups/{i}"));
            let message = format!("`{field}` is not a field of the tasks");
            self.task_field(draft, tasks, place, field, message);
        }
    }

    /// Refuses an interval or an effect that cannot be computed from what it is asked of.
    fn asked_interval(&mut self, draft: &Draft, analysis: &Analysis, asked: &Asked<'_>) {
        let table = &asked.table;
        let binary = is_binary(draft, asked.outcome);
        let clustered = analysis
            .cluster
            .as_deref()
            .is_some_and(|field| field != "none");
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
        if asked.effect == Some(Effect::GeometricRatio) && binary {
            let place = Place::Value(format!("{table}/effect"));
            let message = "a geometric ratio needs values above 0, and a binary outcome has zeros";
            self.refuse(Code::Analysis, place, message);
        }
    }

    fn asked_margin(&mut self, draft: &Draft, asked: &Asked<'_>) {
        let table = &asked.table;
        let margin = Place::Value(format!("{table}/margin"));
        match (asked.objective, asked.margin) {
            (Some(Objective::NonInferiority | Objective::Equivalence), None)
                if !self.was_refused(&format!("{table}/margin")) =>
            {
                self.refuse(
                    Code::Analysis,
                    Place::Value(format!("{table}/objective")),
                    "this objective needs `margin`: the largest difference that does not matter",
                );
            }
            (Some(Objective::NonInferiority | Objective::Equivalence), Some(size))
                if size <= 0.0 =>
            {
                self.refuse(
                    Code::Range,
                    margin,
                    "a margin is more than 0: the largest difference that does not matter",
                );
            }
            (Some(Objective::NonInferiority | Objective::Equivalence), Some(size))
                if size > 1.0 && is_binary(draft, asked.outcome) =>
            {
                self.refuse(
                    Code::Range,
                    margin,
                    "two shares differ by at most 1; a margin above that can never be missed",
                );
            }
            (Some(Objective::Superiority), Some(_)) => self.refuse(
                Code::Analysis,
                margin,
                "superiority has no margin; remove it, or choose another objective",
            ),
            _ => {}
        }
    }

    /// Refuses passes in more repeats than there are.
    fn passes(&mut self, draft: &Draft, analysis: &Analysis) {
        let Some(descriptive) = &analysis.descriptive else {
            return;
        };
        let repeats = draft.repeats();
        for (key, list) in [
            ("pass_at", &descriptive.pass_at),
            ("pass_hat", &descriptive.pass_hat),
        ] {
            for (i, k) in list.iter().flatten().enumerate() {
                if *k == 0 || *k > repeats {
                    let place = Place::Value(format!("/analysis/descriptive/{key}/{i}"));
                    let message =
                        format!("`{k}` must be from 1 to the {repeats} repeats of a task");
                    self.refuse(Code::Range, place, message);
                }
            }
        }
    }
}

/// Returns whether an outcome is binary; one that is not declared is told elsewhere.
fn is_binary(draft: &Draft, outcome: &str) -> bool {
    let found = draft.outcomes.iter().find(|one| one.id.0 == outcome);
    found.is_some_and(|outcome| outcome.kind == OutcomeKind::Binary)
}

/// Says why a test cannot be made on what it is asked of.
fn test_slip(draft: &Draft, analysis: &Analysis, asked: &Asked<'_>) -> Option<String> {
    let outcome = draft.outcomes.iter().find(|one| one.id.0 == asked.outcome);
    let binary = outcome.is_none_or(|outcome| outcome.kind == OutcomeKind::Binary);
    let mcnemar = matches!(asked.test, Some(Test::McnemarExact | Test::McnemarMid));
    let paired = mcnemar || asked.test == Some(Test::Wilcoxon);
    let cluster = analysis.cluster.as_deref();
    let clustered = cluster.is_some_and(|field| field != "none");
    let repeats = draft.repeats();
    if mcnemar && !binary {
        Some("a McNemar test needs a binary outcome".to_owned())
    } else if mcnemar && repeats > 1 {
        Some(format!(
            "a McNemar test needs one repeat of each task, and here are {repeats}; use sign_flip or t_cr2"
        ))
    } else if paired && clustered {
        Some(
            "this test takes tasks for unrelated; with `cluster` use t_cr2 or sign_flip".to_owned(),
        )
    } else {
        None
    }
}

fn of_primary(primary: &Comparison) -> Asked<'_> {
    Asked {
        table: "/analysis/primary".to_owned(),
        outcome: &primary.outcome.0,
        test: primary.test,
        objective: primary.objective,
        margin: primary.margin,
        effect: primary.effect,
        interval: primary.interval,
    }
}

fn of_secondary<'d>(i: usize, one: &'d Secondary, primary: &'d Comparison) -> Asked<'d> {
    // A secondary that asks for something else does not inherit the margin of the primary.
    let inherited = one.objective.is_none().then_some(primary.margin).flatten();
    Asked {
        table: format!("/analysis/secondary/{i}"),
        outcome: &one.outcome.0,
        test: one.test.or(primary.test),
        objective: one.objective.or(primary.objective),
        margin: one.margin.or(inherited),
        effect: one.effect.or(primary.effect),
        interval: one.interval.or(primary.interval),
    }
}

/// Returns the analysis with its defaults, and each number as every reader spells it.
fn with_defaults(analysis: &Value, missing_share_max: Option<Share>) -> Value {
    let mut analysis = canonical::respelled(analysis);
    let share = missing_share_max.map_or("1/10".to_owned(), |share| share.to_string());
    let defaults = [
        ("alpha", Value::from(0.05)),
        ("cluster", Value::from("none")),
        ("seal", Value::from(true)),
    ];
    if let Some(object) = analysis.as_object_mut() {
        for (key, value) in defaults {
            object.entry(key).or_insert(value);
        }
        // One spelling of a share, however it was written.
        object.insert("missing_share_max".to_owned(), Value::from(share));
    }
    analysis
}
