//! Checks what makes starts wait or end: stages, outage, readings, stops, holds, budgets.
//!
//! The engine of this version obeys few of these tables, and none is registered then; what they say
//! is checked all the same.

use super::Checker;
use super::expressions::object;
use super::literals::micro_dollars;
use crate::protocol::defect::{Code, Defect, Place};
use crate::protocol::draft::{
    Backoff, Budget, BudgetCounts, BudgetUnknown, Draft, Reading, ReadingFrom, Stage, StopScope,
};
use crate::protocol::expression::{Expected, Scope, Type};

impl Checker<'_> {
    pub(super) fn rules(&mut self, draft: &Draft) {
        let scope = self.rule_scope(draft);
        self.stages(draft, &scope);
        self.outage(draft);
        self.readings(draft);
        self.stops_and_holds(draft, &scope);
        if let Some(backoff) = &draft.backoff {
            self.backoff(backoff);
        }
        if let Some(cutoff) = &draft.cutoff {
            self.time("/cutoff/at", &cutoff.at);
        }
        for (i, budget) in draft.budgets.iter().enumerate() {
            self.budget(&format!("/budgets/{i}"), budget);
        }
        if let Some(breaker) = &draft.breaker {
            let arms: Vec<&str> = breaker.arms.iter().map(|arm| arm.0.as_str()).collect();
            self.arm_list(draft, "/breaker/arms", &arms);
        }
        if let Some(switch) = &draft.switch {
            self.inside(Place::Value("/switch/file".to_owned()), &switch.file.0);
        }
    }

    fn stages(&mut self, draft: &Draft, scope: &Scope) {
        let ids = |stage: &Stage| stage.id.0.clone();
        let names: Vec<String> = draft.stages.iter().map(ids).collect();
        let places = names
            .iter()
            .enumerate()
            .map(|(i, id)| (format!("/stages/{i}/id"), id.as_str()));
        self.distinct(places);
        let mut scope = scope.clone();
        scope.insert("gates".to_owned(), object([("go", Type::Bool)]));
        for (i, stage) in draft.stages.iter().enumerate() {
            let table = format!("/stages/{i}");
            if let Some(opens) = &stage.opens {
                self.opens_after(&format!("{table}/opens"), &opens.0, &names[i..]);
            }
            self.expression_if(
                &format!("{table}/opens"),
                stage.opens.as_ref(),
                &scope,
                Expected::Bool,
            );
            if stage.fits.is_some() && draft.cutoff.is_none() && !self.was_refused("/cutoff") {
                self.refuse(
                    Code::MissingKey,
                    Place::Key(format!("{table}/fits")),
                    "`fits` compares with the cut-off, and there is no table `[cutoff]`",
                );
            }
        }
    }

    /// Refuses a stage that waits for itself or for one after it.
    fn opens_after(&mut self, pointer: &str, text: &str, not_before: &[String]) {
        for (i, id) in not_before.iter().enumerate() {
            let spellings = [format!("stages['{id}']"), format!("stages[\"{id}\"]")];
            let found = spellings.iter().find_map(|spelling| text.find(spelling));
            let Some(start) = found else { continue };
            let message = if i == 0 {
                "the stage would wait for itself, and never open".to_owned()
            } else {
                format!("the stage `{id}` stands after this one; a stage waits for those before it")
            };
            let length = spellings[0].len();
            let place = Place::Within(pointer.to_owned(), start..start + length);
            self.refuse(Code::UnknownName, place, message);
        }
    }

    fn outage(&mut self, draft: &Draft) {
        let Some(outage) = &draft.outage else { return };
        let scope = self.seen(draft);
        self.expression("/outage/error", &outage.error, &scope, Expected::Bool);
        let share = self.share("/outage/error_share", Some(&outage.error_share));
        if share.is_some_and(|share| share.num == 0) {
            self.refuse(
                Code::Range,
                Place::Value("/outage/error_share".to_owned()),
                "a share of 0 makes every window an outage; it must be more than 0",
            );
        }
    }

    fn readings(&mut self, draft: &Draft) {
        let ids = draft.readings.iter().enumerate();
        self.distinct(ids.map(|(i, one)| (format!("/readings/{i}/id"), one.id.0.as_str())));
        for (i, reading) in draft.readings.iter().enumerate() {
            let table = format!("/readings/{i}");
            let scope = Scope::from([
                ("reading".to_owned(), self.reading(i, reading)),
                ("now".to_owned(), Type::Time),
            ]);
            self.expression_if(
                &format!("{table}/unknown_when"),
                reading.unknown_when.as_ref(),
                &scope,
                Expected::Bool,
            );
            match (&reading.command, reading.from) {
                (Some(command), ReadingFrom::Command) => {
                    self.command(&format!("{table}/command"), &command.0);
                }
                (None, ReadingFrom::Command) => {
                    self.missing(
                        &table,
                        "command",
                        "what is executed for a reading from a command",
                    );
                }
                _ if self.was_refused(&format!("{table}/from")) => {}
                (Some(_), _) => self.refuse(
                    Code::UnknownKey,
                    Place::Key(format!("{table}/command")),
                    "only a reading with from = \"command\" has a command; remove it",
                ),
                (None, _) => {}
            }
        }
    }

    fn stops_and_holds(&mut self, draft: &Draft, scope: &Scope) {
        // The code of a stop or a hold is its id, so they share their names.
        let stops = draft.stops.iter().enumerate();
        let holds = draft.holds.iter().enumerate();
        let ids = stops
            .clone()
            .map(|(i, stop)| (format!("/stops/{i}/id"), stop.id.0.as_str()))
            .chain(
                holds
                    .clone()
                    .map(|(i, hold)| (format!("/holds/{i}/id"), hold.id.0.as_str())),
            );
        self.distinct(ids);
        for (i, stop) in stops {
            let table = format!("/stops/{i}");
            self.expression(&format!("{table}/when"), &stop.when, scope, Expected::Bool);
            let staged = !draft.stages.is_empty() || self.was_refused("/stages");
            if stop.scope == Some(StopScope::Stage) && !staged {
                self.refuse(
                    Code::MissingKey,
                    Place::Value(format!("{table}/scope")),
                    "there is no stage to end: the plan has no `[[stages]]`",
                );
            }
            let shows = stop.shows.as_ref();
            self.expression_if(&format!("{table}/shows"), shows, scope, Expected::Number);
        }
        for (i, hold) in holds {
            let table = format!("/holds/{i}");
            self.expression(&format!("{table}/when"), &hold.when, scope, Expected::Bool);
            let unsaid = hold.until.is_none() && !self.was_refused(&format!("{table}/until"));
            if unsaid && draft.backoff.is_none() && !self.was_refused("/backoff") {
                let place = Place::Key(table.clone());
                let message = format!("nothing says until when `{}` makes starts wait", hold.id.0);
                self.push(
                    Defect::new(Code::MissingKey, place, message)
                        .note("give it `until`, or the protocol a table `[backoff]`"),
                );
            }
            let (until, shows) = (hold.until.as_ref(), hold.shows.as_ref());
            self.expression_if(&format!("{table}/until"), until, scope, Expected::Any);
            self.expression_if(&format!("{table}/shows"), shows, scope, Expected::Number);
        }
    }

    fn backoff(&mut self, backoff: &Backoff) {
        let initial = self.duration("/backoff/initial", Some(&backoff.initial));
        let max = self.duration("/backoff/max", Some(&backoff.max));
        self.duration("/backoff/reset_margin", Some(&backoff.reset_margin));
        self.duration("/backoff/wait_max", Some(&backoff.wait_max));
        if let (Some(initial), Some(max)) = (initial, max)
            && initial > max
            && !self.was_refused("/backoff/max")
        {
            self.refuse(
                Code::Range,
                Place::Value("/backoff/initial".to_owned()),
                format!("the first wait of {initial} is longer than the longest, {max}"),
            );
        }
    }

    fn budget(&mut self, table: &str, budget: &Budget) {
        let max_place = Place::Value(format!("{table}/max"));
        let max = budget.max.0.as_str().and_then(micro_dollars);
        let reserve = budget.reserve.as_ref().and_then(|reserve| reserve.micros());
        if self.was_refused(&format!("{table}/counts")) {
            return;
        }
        match (budget.counts, max) {
            (BudgetCounts::Cost, None) => self.refuse(
                Code::Type,
                max_place,
                "a budget of cost is an amount of money, for example \"400 USD\"",
            ),
            (BudgetCounts::Reruns, Some(_)) => self.refuse(
                Code::Type,
                max_place,
                "a budget of reruns is a count, for example 10",
            ),
            (BudgetCounts::Cost, Some(max)) if reserve.is_some_and(|reserve| reserve > max) => {
                let place = Place::Value(format!("{table}/reserve"));
                let message = "the reserve exceeds the whole budget, so nothing could ever start";
                self.push(
                    Defect::new(Code::Range, place, message)
                        .note("make the reserve smaller than `max`"),
                );
            }
            _ => {}
        }
        if budget.counts == BudgetCounts::Reruns {
            for (key, given) in [
                ("reserve", budget.reserve.is_some()),
                ("unknown", budget.unknown.is_some()),
            ] {
                if given {
                    let place = Place::Key(format!("{table}/{key}"));
                    let message =
                        format!("a budget of reruns counts starts and no money; remove `{key}`");
                    self.refuse(Code::UnknownKey, place, message);
                }
            }
        } else if budget.unknown == Some(BudgetUnknown::Reserve) && budget.reserve.is_none() {
            self.missing(table, "reserve", "what an unknown cost counts as");
        }
    }

    /// Refuses names of a list that are no arms of the protocol, or stand twice.
    pub(super) fn arm_list(&mut self, draft: &Draft, pointer: &str, names: &[&str]) {
        self.once(pointer, names);
        for (i, name) in names.iter().enumerate() {
            self.known_arm(draft, Place::Value(format!("{pointer}/{i}")), name);
        }
    }

    /// Refuses a name that is no arm of the protocol.
    pub(super) fn known_arm(&mut self, draft: &Draft, place: Place, name: &str) {
        let arms: Vec<&str> = draft.arms.iter().map(|arm| arm.id.0.as_str()).collect();
        if !arms.contains(&name) && !self.names_refused("/arms") {
            let message = format!("`{name}` is not an arm of this protocol");
            self.unknown(Code::UnknownArm, place, message, name, &arms);
        }
    }

    /// Returns the type of a reading; one whose fields were refused may have any.
    fn reading(&self, i: usize, reading: &Reading) -> Type {
        let pointer = format!("/readings/{i}/fields");
        Type::Object {
            fields: self.declared(&pointer, &reading.fields),
            closed: !self.was_refused(&pointer),
        }
    }

    /// Returns the names that stops, holds and stages may read.
    fn rule_scope(&self, draft: &Draft) -> Scope {
        let readings = draft
            .readings
            .iter()
            .enumerate()
            .map(|(i, reading)| (reading.id.0.clone(), self.reading(i, reading)));
        let stages = draft
            .stages
            .iter()
            .map(|stage| (stage.id.0.clone(), object([("complete", Type::Bool)])));
        Scope::from([
            (
                "readings".to_owned(),
                self.named("/readings", readings.collect()),
            ),
            ("stages".to_owned(), self.named("/stages", stages.collect())),
            ("now".to_owned(), Type::Time),
        ])
    }
}
