//! Whether a protocol is sound: the checker's defects, then those that show when it is played.

use super::conditions;
use super::modelcheck::{self, History, Model, Weakness};
use crate::protocol::check::{self, Checked};
use crate::protocol::defect::{Code, Defect, Place};
use crate::protocol::folder::Folder;
use crate::protocol::model::{BudgetMax, BudgetPer, ErrorsIn, OrderBy, Protocol, StopScope, Voids};
use crate::protocol::source::{Source, line_of};

/// Checks a protocol file and plays it; returns every defect, in the order of the file.
///
/// `folder` is the folder that the file stands in. Only what has no other defect is played.
pub fn check(bytes: &[u8], folder: &dyn Folder) -> Result<(Checked, Model), Vec<Defect>> {
    let checked = check::check(bytes, folder)?;
    let model = play(&String::from_utf8_lossy(bytes), &checked)?;
    Ok((checked, model))
}

/// Plays a protocol that passed its check; returns the weaknesses that it does not name, and the
/// limitations that it has not.
pub fn play(text: &str, checked: &Checked) -> Result<Model, Vec<Defect>> {
    let protocol = &checked.registration.protocol;
    let model = modelcheck::check(&checked.registration)
        .map_err(|fault| vec![Defect::new(Code::Analysis, Place::File, fault)])?;
    let source = Source::read(text)?;
    let lines = Lines {
        text,
        source: &source,
    };
    let defects = Weakness::ALL.into_iter().filter_map(|weakness| {
        let named = protocol.limitations.contains_key(weakness.code().text());
        let starves = starving(protocol).filter(|_| weakness == Weakness::CanGetStuck);
        match (model.findings.get(&weakness), named) {
            (Some(history), false) => Some(found(weakness, protocol, history, &lines)),
            (None, false) => starves.map(starved),
            (None, true) if starves.is_some() => None,
            // What a search that was cut has not found may be there.
            (None, true) if model.complete => Some(check::not_found(weakness.code().text())),
            _ => None,
        }
    });
    let mut defects: Vec<Defect> = defects.collect();
    if defects.is_empty() {
        return Ok(model);
    }
    defects.sort_by_key(|defect| source.span(&defect.place).start);
    Err(defects)
}

/// The text of a protocol, to say on which line something stands.
struct Lines<'a> {
    text: &'a str,
    source: &'a Source<'a>,
}

impl Lines<'_> {
    fn of(&self, pointer: &str) -> usize {
        let span = self.source.span(&Place::Key(pointer.to_owned()));
        line_of(self.text, span.start)
    }
}

/// Makes the defect of a weakness, at the table that causes it.
fn found(weakness: Weakness, protocol: &Protocol, history: &History, lines: &Lines<'_>) -> Defect {
    let code = weakness.code();
    let why = match weakness {
        Weakness::CanGetStuck => stuck(protocol, lines),
        Weakness::OutageNotBlind => blind(protocol),
    };
    let mut example = vec!["a shortest history:".to_owned()];
    example.extend(history.lines());
    Defect {
        example,
        label: why.label,
        note: Some(check::way_out(why.way_out, code)),
        ..Defect::new(code, Place::Key(why.place), why.message)
    }
}

/// Returns the rule that can refuse one slot as long as may be and not the others: what comes after it
/// in the order waits for it. A budget or a stop of the whole study ends all of it instead.
fn starving(protocol: &Protocol) -> Option<Why> {
    let budget = protocol.budgets.iter().position(|budget| {
        budget.per != BudgetPer::Study || matches!(budget.max, BudgetMax::Count(_))
    });
    let budget = budget.map(|budget| Why {
        place: format!("/budgets/{budget}"),
        message: "once this budget is spent, the slot that comes next never starts, and those after it wait for it",
        label: None,
        way_out: "a budget of the cost of the whole study ends the study, and `per_slot` limits attempts",
    });
    budget.or_else(|| starving_stop(protocol))
}

/// Returns the stop of an arm, which others wait for in the order; or of a stage, where another opens
/// by how far stages have come.
fn starving_stop(protocol: &Protocol) -> Option<Why> {
    let waits = |scope: StopScope| match scope {
        StopScope::Study => false,
        StopScope::Arm => true,
        StopScope::Stage => {
            let mut opens = protocol
                .stages
                .iter()
                .filter_map(|stage| stage.opens.as_ref());
            opens.any(|opens| opens.contains("stages"))
        }
    };
    let mut stops = protocol.stops.iter();
    let stop = stops.position(|stop| waits(stop.scope))?;
    let message = match protocol.stops[stop].scope {
        StopScope::Stage => {
            "as long as this stop fires for a stage, the stage is never complete, and those that open by that wait for it"
        }
        _ => {
            "as long as this stop fires for an arm, the slot of the arm never starts, and those after it in the order wait for it"
        }
    };
    Some(Why {
        place: format!("/stops/{stop}/scope"),
        message,
        label: None,
        way_out: "scope = \"study\" stops the whole study",
    })
}

fn starved(why: Why) -> Defect {
    let code = Weakness::CanGetStuck.code();
    Defect {
        note: Some(check::way_out(why.way_out, code)),
        ..Defect::new(code, Place::Key(why.place), why.message)
    }
}

/// Why a protocol has a weakness, and how it is removed.
struct Why {
    place: String,
    message: &'static str,
    label: Option<String>,
    way_out: &'static str,
}

fn stuck(protocol: &Protocol, lines: &Lines<'_>) -> Why {
    let message = "after this history no start is ever granted again";
    let closed = || {
        let mut stages = 0..protocol.stages.len();
        stages.find(|place| !conditions::each_opens_after_those_before(&protocol.stages[..=*place]))
    };
    let by_plan = "by = \"plan\" grants the earliest slot that may start, whatever has ended";
    match (protocol.allocation.by, &protocol.outage, closed()) {
        (OrderBy::Plan, _, Some(stage)) => Why {
            place: format!("/stages/{stage}/opens"),
            message,
            label: Some("is not met once the stages before it are complete".to_owned()),
            way_out: "let the stage open once those before it are complete",
        },
        (OrderBy::Counts, Some(outage), _) if outage.voids == Voids::Run => Why {
            place: "/outage".to_owned(),
            message,
            label: Some(format!(
                "voids = \"run\" with by = \"counts\" (line {})",
                lines.of("/allocation/by")
            )),
            way_out: by_plan,
        },
        _ => Why {
            place: "/allocation/by".to_owned(),
            message,
            label: None,
            way_out: by_plan,
        },
    }
}

fn blind(protocol: &Protocol) -> Why {
    let any = |errors_in| errors_in == ErrorsIn::AnyArm;
    let label = protocol.outage.as_ref().filter(|rule| any(rule.errors_in));
    Why {
        place: "/outage".to_owned(),
        message: "in this history an outage voids runs although only one arm had errors: an arm that fails may be taken for the world",
        label: label.map(|_| "errors_in = \"any_arm\": counts alone decide".to_owned()),
        way_out: "errors_in = \"every_arm\" asks for an error in each arm",
    }
}
