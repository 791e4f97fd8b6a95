//! Counts and rates, as people read them.

use serde_json::Value;

use crate::engine::slice::Clocks;
use crate::protocol::model::{Expect, OutcomeKind};
use crate::report::tally::{
    ArmTally, ControlTally, ControlVerdict, Figure, OutcomeTally, Tally, dollars, percent,
};
use crate::units::{Micros, Money};

/// Returns the table of outcomes by arm, and the controls.
pub(super) fn table(tally: &Tally) -> String {
    let width = tally
        .outcomes
        .iter()
        .map(|outcome| outcome.id.len())
        .max()
        .unwrap_or(0)
        .max(10);
    let cells: Vec<Vec<String>> = tally
        .outcomes
        .iter()
        .map(|outcome| outcome.arms.iter().map(|arm| cell(outcome, arm)).collect())
        .collect();
    let columns = cells
        .iter()
        .flatten()
        .map(|cell| cell.chars().count())
        .max()
        .unwrap_or(0);
    let mut text = String::new();
    for (outcome, cells) in tally.outcomes.iter().zip(&cells) {
        let row: Vec<String> = cells
            .iter()
            .map(|cell| format!("{cell:<columns$}"))
            .collect();
        text.push_str(format!("  {:<width$}  {}", outcome.id, row.join("   ")).trim_end());
        text.push('\n');
    }
    if !tally.controls.is_empty() {
        text.push_str(&format!(
            "  {:<width$}  {}\n",
            "controls",
            controls(&tally.controls)
        ));
    }
    text
}

fn cell(outcome: &OutcomeTally, arm: &ArmTally) -> String {
    match arm.value {
        Figure::Count { count, of } => {
            let missing = match of - arm.known.min(of) {
                0 => String::new(),
                missing => format!(", {missing} missing"),
            };
            format!(
                "{} {count} of {of} ({}{missing})",
                arm.arm,
                percent(count, of)
            )
        }
        Figure::Mean { mean: None } => format!("{} no value in {} slots", arm.arm, arm.slots),
        Figure::Mean { mean: Some(mean) } => format!(
            "{} mean {} in {}",
            arm.arm,
            number(outcome.kind, mean),
            arm.known
        ),
    }
}

fn number(kind: OutcomeKind, mean: f64) -> String {
    match kind {
        OutcomeKind::Money => format!("{} USD", significant(dollars(mean))),
        OutcomeKind::Duration => format!("{} ms", significant(mean)),
        _ => significant(mean),
    }
}

/// Writes four significant digits, without an exponent where it would not help.
fn significant(number: f64) -> String {
    if number == 0.0 {
        return "0".to_owned();
    }
    let rounded: f64 = format!("{number:.3e}").parse().unwrap_or(number);
    format!("{rounded}")
}

fn controls(controls: &[ControlTally]) -> String {
    let each: Vec<String> = controls
        .iter()
        .map(|control| {
            let unjudged = match control.unjudged {
                0 => String::new(),
                unjudged => format!(" ({unjudged} unjudged)"),
            };
            format!(
                "{} {} of {}{unjudged}",
                control.control, control.count, control.of
            )
        })
        .collect();
    let all = |verdict| controls.iter().all(|control| control.verdict == verdict);
    let verdict = if failed_controls(controls).is_some() {
        "the outcomes cannot be trusted"
    } else if all(ControlVerdict::Holds) {
        "the instrument works"
    } else {
        "as expected so far"
    };
    format!("{}: {verdict}", each.join(", "))
}

/// Returns the line that says which controls failed, if any did.
pub(super) fn failed_controls(controls: &[ControlTally]) -> Option<String> {
    let failed = controls
        .iter()
        .filter(|control| control.verdict == ControlVerdict::Fails);
    let each: Vec<String> = failed
        .map(|control| {
            let expected = match control.expect {
                Expect::AllResolved => "all",
                Expect::NoneResolved => "none",
            };
            let unjudged = match control.unjudged {
                0 => String::new(),
                unjudged => format!(", {unjudged} unjudged"),
            };
            format!(
                "the control `{}` has {} of {} and must have {expected}{unjudged}",
                control.control, control.count, control.of
            )
        })
        .collect();
    (!each.is_empty()).then(|| format!("failed      {}\n", each.join("; ")))
}

/// Returns the line that says how many slots are scored, and what became of the others.
pub(super) fn slots_line(tally: &Tally) -> String {
    let causes: Vec<String> = tally
        .causes
        .iter()
        .map(|(cause, count)| format!("{count} {cause}"))
        .collect();
    let causes = if causes.is_empty() {
        String::new()
    } else {
        format!(" ({})", causes.join(", "))
    };
    let reruns = counted(tally.reruns, "rerun", "reruns");
    format!(
        "{} of {} slots scored; {} unjudged{causes}, {reruns}",
        tally.scored, tally.slots, tally.unjudged
    )
}

/// Shows an outcome's value, in the unit of its kind where that is known.
pub(super) fn value(kind: Option<OutcomeKind>, value: &Value) -> String {
    match (kind, value) {
        (_, Value::Null) => "missing".to_owned(),
        (_, Value::Bool(true)) => "yes".to_owned(),
        (_, Value::Bool(false)) => "no".to_owned(),
        (Some(OutcomeKind::Money), Value::Number(amount)) => match amount.as_u64() {
            Some(amount) => Money(amount).to_string(),
            None => format!("{amount} millionths of a USD"),
        },
        (Some(OutcomeKind::Duration), Value::Number(span)) => format!("{span} ms"),
        (_, other) => other.to_string(),
    }
}

/// Counts things in words: `1 entry`, `2 entries`.
pub(super) fn counted(count: u64, one: &str, many: &str) -> String {
    if count == 1 {
        format!("1 {one}")
    } else {
        format!("{count} {many}")
    }
}

/// Says what was wrong with the clocks that entries were given by; nothing where nothing was.
pub(super) fn clocks(clock: &Clocks) -> Vec<String> {
    let seconds = |duration: Micros| Micros::from_seconds(duration.millis() / 1000);
    let mut said = Vec::new();
    if clock.behind > 0 {
        said.push(format!(
            "{} the time of the one before, because the clock lay behind it, by {} at the most",
            counted(clock.behind, "entry has", "entries have"),
            seconds(clock.behind_max)
        ));
    }
    if clock.jumps > 0 {
        said.push(format!(
            "the clock was set {} during a session, by {} at the most",
            counted(clock.jumps, "time", "times"),
            seconds(clock.jump_max)
        ));
    }
    said
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_value_is_shown_in_the_unit_of_its_kind() {
        for (kind, found, shown) in [
            (Some(OutcomeKind::Money), json!(500_000), "0.50 USD"),
            (
                Some(OutcomeKind::Money),
                json!(-1),
                "-1 millionths of a USD",
            ),
            (Some(OutcomeKind::Money), json!(null), "missing"),
            (Some(OutcomeKind::Duration), json!(1_200), "1200 ms"),
            (Some(OutcomeKind::Number), json!(1.5), "1.5"),
            (Some(OutcomeKind::Binary), json!(true), "yes"),
            (None, json!(7), "7"),
        ] {
            assert_eq!(value(kind, &found), shown);
        }
    }
}
