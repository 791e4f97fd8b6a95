//! Checks that what is described without a test can be described.

use super::Checker;
use super::literals::exact;
use crate::protocol::defect::{Code, Place};
use crate::protocol::draft::{self, Draft};
use crate::protocol::frame::Task;
use crate::protocol::model::{
    Better, CostEffectiveness, Descriptive, OutcomeKind, TimeToSuccess, is_claim,
};
use crate::units::{Micros, Money, Ratio};

impl Checker<'_> {
    /// Reads what is described without a test.
    pub(super) fn descriptive(
        &mut self,
        draft: &Draft,
        given: &draft::Descriptive,
        tasks: &[Task],
    ) -> Descriptive {
        let time = given.time_to_success.as_ref();
        let cost = given.cost_effectiveness.as_ref();
        let none = |given: Option<usize>| given.is_none_or(|count| count == 0);
        let lists = [
            given.pass_at.as_ref().map(Vec::len),
            given.pass_hat.as_ref().map(Vec::len),
            given.subgroups.as_ref().map(Vec::len),
        ];
        if time.is_none() && cost.is_none() && lists.into_iter().all(none) {
            self.refuse(
                Code::MissingKey,
                Place::Key("/analysis/descriptive".to_owned()),
                "nothing is described; name what is, for example pass_at = [1], or leave the table out",
            );
        }
        self.described_outcomes(draft, given);
        Descriptive {
            pass_at: self.passes(draft, "pass_at", given.pass_at.as_deref()),
            pass_hat: self.passes(draft, "pass_hat", given.pass_hat.as_deref()),
            time_to_success: time.and_then(|given| self.time_to_success(given)),
            cost_effectiveness: cost.map(|given| self.cost_effectiveness(given)),
            subgroups: self.subgroups(draft, given.subgroups.as_deref(), tasks),
        }
    }

    /// Reads in how many repeats passes are looked for; no more than there are.
    fn passes(&mut self, draft: &Draft, key: &str, given: Option<&[u32]>) -> Vec<u32> {
        let given = given.unwrap_or_default();
        let repeats = draft.repeats();
        for (i, k) in given.iter().enumerate() {
            if *k == 0 || *k > repeats {
                let place = Place::Value(format!("/analysis/descriptive/{key}/{i}"));
                let message = format!("`{k}` must be from 1 to the {repeats} repeats of a task");
                self.refuse(Code::Range, place, message);
            }
        }
        given.to_vec()
    }

    /// Reads a limit in seconds; like every duration it is in whole milliseconds.
    fn time_to_success(&mut self, given: &draft::TimeToSuccess) -> Option<TimeToSuccess> {
        let seconds = exact::<Ratio>(given.limit_s);
        let millis = seconds.and_then(|limit| Some((limit.num.checked_mul(1_000)?, limit.den)));
        let whole = millis.filter(|(num, den)| num % den == 0);
        if whole.is_none() {
            let place = Place::Value("/analysis/descriptive/time_to_success/limit_s".to_owned());
            let message = format!(
                "`{}` is finer than a millisecond; write at most three decimals",
                given.limit_s
            );
            self.refuse(Code::Range, place, message);
        }
        whole.map(|(num, den)| TimeToSuccess {
            limit: Micros((num / den).saturating_mul(1_000)),
        })
    }

    /// Reads prices in USD.
    fn cost_effectiveness(&mut self, given: &draft::CostEffectiveness) -> CostEffectiveness {
        let mut lambda = Vec::new();
        for (i, price) in given.lambda.iter().enumerate() {
            let money = format!("{price} USD").parse::<Money>();
            if money.is_err() {
                let place = format!("/analysis/descriptive/cost_effectiveness/lambda/{i}");
                let message =
                    format!("`{price}` is finer than a micro-dollar; write at most six decimals");
                self.refuse(Code::Range, Place::Value(place), message);
            }
            lambda.extend(money);
        }
        CostEffectiveness { lambda }
    }

    /// Reads by which fields of the tasks subgroups are formed.
    fn subgroups(
        &mut self,
        draft: &Draft,
        given: Option<&[String]>,
        tasks: &[Task],
    ) -> Vec<String> {
        let given = given.unwrap_or_default();
        for (i, field) in given.iter().enumerate() {
            let place = Place::Value(format!("/analysis/descriptive/subgroups/{i}"));
            let message = format!("`{field}` is not a field of the tasks");
            self.task_field(draft, tasks, place, field, message);
        }
        given.to_vec()
    }

    /// Refuses descriptions of what no outcome says: successes without a binary outcome, costs without money.
    fn described_outcomes(&mut self, draft: &Draft, given: &draft::Descriptive) {
        let primary = draft.analysis.as_ref();
        let primary = primary.map_or("", |analysis| analysis.primary.outcome.0.as_str());
        let is_success = |outcome: &draft::Outcome| {
            let id = outcome.id.0.as_str();
            let may_be_one = outcome.better == Better::Higher && !is_claim(id, &outcome.value.0);
            outcome.kind == OutcomeKind::Binary
                && (may_be_one || ["resolved", primary].contains(&id))
        };
        let successes = [
            ("pass_at", given.pass_at.is_some()),
            ("pass_hat", given.pass_hat.is_some()),
            ("time_to_success", given.time_to_success.is_some()),
            ("cost_effectiveness", given.cost_effectiveness.is_some()),
        ];
        let asked = successes.into_iter().find(|(_, asked)| *asked);
        if let (Some((key, _)), false) = (asked, draft.outcomes.iter().any(is_success)) {
            let place = Place::Key(format!("/analysis/descriptive/{key}"));
            let message = format!(
                "`{key}` counts successes: declare a binary outcome that says what one is, with better = \"higher\""
            );
            self.refuse(Code::Analysis, place, message);
        }
        let mut outcomes = draft.outcomes.iter();
        let has_money = outcomes.any(|outcome| outcome.kind == OutcomeKind::Money);
        if given.cost_effectiveness.is_some() && !has_money {
            let place = Place::Key("/analysis/descriptive/cost_effectiveness".to_owned());
            let message = "no outcome says what a run costs; declare one of kind = \"money\", or leave this out";
            self.refuse(Code::Analysis, place, message);
        }
    }
}
