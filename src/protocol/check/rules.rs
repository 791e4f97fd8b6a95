//! Checks what makes starts wait or end: stages, outage, readings, stops, holds, budgets.
//!
//! What a version does not enforce (`enforced`) is checked all the same.

use serde_json::Value;

use super::Checker;
use super::expressions::{object, text};
use crate::protocol::defect::{Code, Defect, Place};
use crate::protocol::draft::{self, Draft, ExpressionText};
use crate::protocol::expression::{Expected, Scope, Type};
use crate::protocol::model::{
    Backoff, Breaker, Budget, BudgetCounts, BudgetMax, BudgetUnknown, ErrorsIn, Fits, Hold,
    OrderBy, Outage, Reading, ReadingFrom, Stage, Stop, StopAt, StopScope, UnknownStop, Voids,
};
use crate::units::{Money, Ratio, Time};

impl Checker<'_> {
    pub(super) fn stages(&mut self, draft: &Draft, scope: &Scope) -> Option<Vec<Stage>> {
        let names = draft.stages.iter().map(|stage| stage.id.0.as_str());
        let names: Vec<&str> = names.collect();
        let places = names.iter().enumerate();
        self.distinct(places.map(|(i, id)| (format!("/stages/{i}/id"), *id)));
        let mut scope = scope.clone();
        scope.insert("gates".to_owned(), object([("go", Type::Bool)]));
        let stages = draft.stages.iter().enumerate();
        let stages: Vec<Option<Stage>> = stages
            .map(|(i, stage)| {
                let table = format!("/stages/{i}");
                let before = self.defects.len();
                scope.insert("stages".to_owned(), self.stages_before(draft, i));
                let checked = self.stage(draft, &table, stage, &scope);
                self.starts(draft, i, &table, stage);
                self.opens_after(stage.opens.as_ref(), &names[i..], before);
                checked
            })
            .collect();
        stages.into_iter().collect()
    }

    /// Refuses the first stage an estimate that only complete blocks before it could give.
    fn starts(&mut self, draft: &Draft, i: usize, table: &str, stage: &draft::Stage) {
        if i == 0 && stage.fits.is_some() && draft.cutoff.is_some() {
            self.refuse(
                Code::NeverStarts,
                Place::Key(format!("{table}/fits")),
                "no block is complete before the first stage, so nothing says whether one fits and none would start; remove `fits` here",
            );
        }
    }

    fn stage(
        &mut self,
        draft: &Draft,
        table: &str,
        stage: &draft::Stage,
        scope: &Scope,
    ) -> Option<Stage> {
        let opens = stage.opens.as_ref();
        self.expression_if(&format!("{table}/opens"), opens, scope, Expected::Bool);
        let fits = match &stage.fits {
            Some(fits) => Some(self.fits(draft, &format!("{table}/fits"), fits)?),
            None => None,
        };
        Some(Stage {
            id: stage.id.0.clone(),
            repeats: stage.repeats,
            opens: text(opens),
            fits,
        })
    }

    fn fits(&mut self, draft: &Draft, table: &str, fits: &draft::Fits) -> Option<Fits> {
        if draft.cutoff.is_none() && !self.was_refused("/cutoff") {
            self.refuse(
                Code::MissingKey,
                Place::Key(table.to_owned()),
                "`fits` compares with the cut-off, and there is no table `[cutoff]`",
            );
        }
        let margin = fits.margin.parse::<Ratio>().ok();
        let margin = margin.filter(|margin| margin.num > 0);
        if margin.is_none() {
            self.refuse(
                Code::Range,
                Place::Value(format!("{table}/margin")),
                "a margin of 0 lets every block start; it must be more than 0",
            );
        }
        Some(Fits {
            margin: margin?,
            estimate: fits.estimate,
        })
    }

    /// Says plainly that a stage waits for itself or for one after it: neither is known there.
    fn opens_after(&mut self, opens: Option<&ExpressionText>, not_before: &[&str], since: usize) {
        let Some(opens) = opens else { return };
        for defect in self.defects.iter_mut().skip(since) {
            let Place::Within(_, range) = &defect.place else {
                continue;
            };
            let name = opens.0.get(range.clone()).unwrap_or_default();
            let name = name.trim_matches(['\'', '"']);
            let after = not_before.iter().position(|id| *id == name);
            match after.filter(|_| defect.code == Code::UnknownName) {
                Some(0) => {
                    "the stage would wait for itself, and never open"
                        .clone_into(&mut defect.message);
                }
                Some(_) => {
                    defect.message = format!(
                        "the stage `{name}` stands after this one; a stage waits for those before it"
                    );
                }
                None => continue,
            }
            defect.label = None;
        }
    }

    pub(super) fn outage(&mut self, draft: &Draft) -> Option<Outage> {
        let outage = draft.outage.as_ref()?;
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
        let voids = outage.voids.unwrap_or(Voids::Block);
        let by_counts = draft.allocation.by == Some(OrderBy::Counts);
        if by_counts && voids == Voids::Block && !self.was_refused("/outage/voids") {
            let place = match outage.voids {
                Some(_) => Place::Value("/outage/voids".to_owned()),
                None => Place::Key("/outage".to_owned()),
            };
            let message = "under by = \"counts\" there are no blocks, so this outage would void nothing; write voids = \"run\"";
            self.refuse(Code::Arms, place, message);
        }
        Some(Outage {
            window: outage.window,
            error: outage.error.0.clone(),
            ended_min: outage.ended_min,
            error_share: share?,
            errors_in: outage.errors_in.unwrap_or(ErrorsIn::EveryArm),
            voids,
            pauses_starts: outage.pauses_starts.unwrap_or(true),
        })
    }

    pub(super) fn readings(&mut self, draft: &Draft) -> Vec<Reading> {
        let ids = draft.readings.iter().enumerate();
        self.distinct(ids.map(|(i, one)| (format!("/readings/{i}/id"), one.id.0.as_str())));
        let readings = draft.readings.iter().enumerate();
        readings
            .map(|(i, reading)| self.reading(i, reading))
            .collect()
    }

    fn reading(&mut self, i: usize, reading: &draft::Reading) -> Reading {
        let table = &format!("/readings/{i}");
        let scope = Scope::from([
            ("reading".to_owned(), self.reading_type(i, reading)),
            ("now".to_owned(), Type::Time),
        ]);
        let unknown_when = reading.unknown_when.as_ref();
        self.expression_if(
            &format!("{table}/unknown_when"),
            unknown_when,
            &scope,
            Expected::Bool,
        );
        match (&reading.command, reading.from) {
            (Some(command), ReadingFrom::Command) => {
                self.command(&format!("{table}/command"), &command.0);
            }
            (None, ReadingFrom::Command) => {
                self.missing(
                    table,
                    "command",
                    "what is executed for a reading from a command",
                );
            }
            (Some(_), _) => self.refuse(
                Code::UnknownKey,
                Place::Key(format!("{table}/command")),
                "only a reading with from = \"command\" has a command; remove it",
            ),
            (None, _) => {}
        }
        Reading {
            id: reading.id.0.clone(),
            fields: reading.fields.clone(),
            from: reading.from,
            command: reading.command.as_ref().map(|command| command.0.clone()),
            unknown_when: text(unknown_when),
        }
    }

    /// Refuses equal names: the code of a stop or a hold is its id, so they share their names.
    pub(super) fn rule_ids(&mut self, draft: &Draft) {
        let stops = draft.stops.iter().enumerate();
        let stops = stops.map(|(i, stop)| (format!("/stops/{i}/id"), stop.id.0.as_str()));
        let holds = draft.holds.iter().enumerate();
        let holds = holds.map(|(i, hold)| (format!("/holds/{i}/id"), hold.id.0.as_str()));
        self.distinct(stops.chain(holds));
    }

    pub(super) fn stops(&mut self, draft: &Draft, scope: &Scope) -> Vec<Stop> {
        let mut stops = Vec::new();
        for (i, stop) in draft.stops.iter().enumerate() {
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
            stops.push(Stop {
                id: stop.id.0.clone(),
                when: stop.when.0.clone(),
                shows: text(shows),
                scope: stop.scope.unwrap_or(StopScope::Study),
                at: stop.at.unwrap_or(StopAt::Start),
                unknown: stop.unknown.unwrap_or(UnknownStop::Hold),
            });
        }
        stops
    }

    pub(super) fn holds(&mut self, draft: &Draft, scope: &Scope) -> Vec<Hold> {
        let mut holds = Vec::new();
        for (i, hold) in draft.holds.iter().enumerate() {
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
            self.expression_if(&format!("{table}/until"), until, scope, Expected::Time);
            self.expression_if(&format!("{table}/shows"), shows, scope, Expected::Number);
            holds.push(Hold {
                id: hold.id.0.clone(),
                when: hold.when.0.clone(),
                until: text(until),
                shows: text(shows),
                unknown: hold.unknown.unwrap_or(UnknownStop::Hold),
            });
        }
        holds
    }

    pub(super) fn backoff(&mut self, draft: &Draft) -> Option<Backoff> {
        let backoff = draft.backoff.as_ref()?;
        let initial = self.duration("/backoff/initial", Some(&backoff.initial));
        let max = self.duration("/backoff/max", Some(&backoff.max));
        let reset_margin = self.duration("/backoff/reset_margin", Some(&backoff.reset_margin));
        let wait_max = self.duration("/backoff/wait_max", Some(&backoff.wait_max));
        let (initial, max) = (initial?, max?);
        if initial > max && !self.was_refused("/backoff/max") {
            self.refuse(
                Code::Range,
                Place::Value("/backoff/initial".to_owned()),
                format!("the first wait of {initial} is longer than the longest, {max}"),
            );
        }
        Some(Backoff {
            initial,
            max,
            reset_margin: reset_margin?,
            wait_max: wait_max?,
        })
    }

    pub(super) fn cutoff(&mut self, draft: &Draft) -> Option<Time> {
        self.time("/cutoff/at", &draft.cutoff.as_ref()?.at)
    }

    pub(super) fn budgets(&mut self, draft: &Draft) -> Option<Vec<Budget>> {
        let budgets = draft.budgets.iter().enumerate();
        let budgets: Vec<Option<Budget>> = budgets
            .map(|(i, budget)| self.budget(&format!("/budgets/{i}"), budget))
            .collect();
        budgets.into_iter().collect()
    }

    fn budget(&mut self, table: &str, budget: &draft::Budget) -> Option<Budget> {
        let max = match &budget.max.0 {
            Value::String(text) => text.parse().ok().map(BudgetMax::Cost),
            value => value.as_u64().map(BudgetMax::Count),
        };
        let reserve = budget
            .reserve
            .as_ref()
            .map(|reserve| reserve.0.parse::<Money>());
        let reserve = reserve.transpose().ok()?;
        let max_place = Place::Value(format!("{table}/max"));
        if self.was_refused(&format!("{table}/counts")) {
            return None;
        }
        match (budget.counts, max?) {
            (BudgetCounts::Cost, BudgetMax::Count(_)) => self.refuse(
                Code::Type,
                max_place,
                "a budget of cost is an amount of money, for example \"400 USD\"",
            ),
            (BudgetCounts::Reruns, BudgetMax::Cost(_)) => self.refuse(
                Code::Type,
                max_place,
                "a budget of reruns is a count, for example 10",
            ),
            (BudgetCounts::Cost, BudgetMax::Cost(max)) if reserve > Some(max) => {
                let place = Place::Value(format!("{table}/reserve"));
                let message = "the reserve exceeds the whole budget, so nothing could ever start";
                self.push(
                    Defect::new(Code::Range, place, message)
                        .note("make the reserve smaller than `max`"),
                );
            }
            _ => {}
        }
        self.budget_keys(table, budget);
        Some(Budget {
            counts: budget.counts,
            per: budget.per,
            max: max?,
            reserve,
            unknown: budget.unknown,
        })
    }

    /// Checks that a budget has the keys that fit what it counts, and no others.
    fn budget_keys(&mut self, table: &str, budget: &draft::Budget) {
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
        if budget.counts == BudgetCounts::Cost && budget.unknown.is_none() {
            self.missing(
                table,
                "unknown",
                "what an unknown cost counts as; it is never 0",
            );
        }
    }

    pub(super) fn breaker(&mut self, draft: &Draft) -> Option<Breaker> {
        let breaker = draft.breaker.as_ref()?;
        let arms: Vec<&str> = breaker.arms.iter().map(|arm| arm.0.as_str()).collect();
        self.arm_list(draft, "/breaker/arms", &arms);
        Some(Breaker {
            failures: breaker.failures,
            arms: arms.into_iter().map(str::to_owned).collect(),
            external: breaker.external.unwrap_or(false),
        })
    }

    pub(super) fn switch(&mut self, draft: &Draft) -> Option<String> {
        let file = &draft.switch.as_ref()?.file.0;
        self.inside(Place::Value("/switch/file".to_owned()), file);
        Some(file.clone())
    }
}
