//! What the end of a run that was executed here must show: that its supervisor held it together as
//! registered until nothing of it was left, and that its program was the registered one.
//!
//! The rules decide nothing by it: it is what a record is held to.

use std::borrow::Cow;

use super::divergence::{Code, Divergence};
use crate::engine::command::{Executed, Execution};
use crate::engine::rules::Rules;
use crate::engine::slice::Run;
use crate::protocol::frame::Task;
use crate::protocol::model::Containment;
use crate::protocol::template;
use crate::units::{Digest, RunId};

/// What does not fit in the receipt of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Slip {
    /// One plain sentence.
    pub message: String,
    /// The registered rule that it breaks.
    pub rule: Cow<'static, str>,
}

impl Slip {
    /// Returns it as what an audit has found at an entry; 0 for the record as a whole.
    pub fn at(self, code: Code, entry: u64) -> Divergence {
        Divergence {
            rule: Some(self.rule),
            ..Divergence::new(code, entry, self.message)
        }
    }
}

/// Returns what an ending says that the registration does not allow.
pub fn differs(
    rules: &Rules,
    task: Option<&Task>,
    run: &Run,
    execution: &Execution,
) -> Option<Slip> {
    if run.executed != Executed::Here {
        return None;
    }
    let id = run.run;
    let registered = rules.protocol().execution_of(&run.arm).containment;
    // The best come first.
    if let Some(tier) = execution.containment.filter(|tier| *tier > registered) {
        let message = format!(
            "run {id} was held together by `{}`, and what is registered is at least `{}`",
            word(tier),
            word(registered)
        );
        return Some(containment(message));
    }
    let executed = execution.program.as_deref()?;
    match program(rules, task, run) {
        Some((_, registered)) if registered == *executed => None,
        Some((path, _)) => Some(by_program(
            rules,
            run,
            format!("run {id} executed another `{path}` than the registered one"),
        )),
        None => Some(by_program(
            rules,
            run,
            format!("run {id} executed a program that is not registered"),
        )),
    }
}

/// Returns what the receipt of a run that has ended does not show.
pub fn lacks(rules: &Rules, task: Option<&Task>, run: &Run) -> Option<Slip> {
    if run.executed != Executed::Here || run.ending.is_none() {
        return None;
    }
    let id = run.run;
    let execution = run.execution.as_ref();
    if execution.and_then(|one| one.containment).is_none() {
        return Some(containment(no_receipt(id)));
    }
    let (path, _) = program(rules, task, run)?;
    let is_said = execution.is_some_and(|one| one.program.is_some());
    let message = format!("nothing shows that run {id} executed the registered `{path}`");
    (!is_said).then(|| by_program(rules, run, message))
}

fn no_receipt(run: RunId) -> String {
    format!(
        "run {run} has ended, and nothing shows that something held it together until nothing of it was left"
    )
}

fn containment(message: String) -> Slip {
    Slip {
        message,
        rule: "/execution/containment".into(),
    }
}

fn by_program(rules: &Rules, run: &Run, message: String) -> Slip {
    let protocol = rules.protocol();
    let controls = &protocol.controls;
    let rule = match protocol.arm(&run.arm) {
        Some(arm) => format!("/arms/{arm}/command"),
        None => match controls.iter().position(|control| control.id == run.arm) {
            Some(control) => format!("/controls/{control}/command"),
            None => "/arms".to_owned(),
        },
    };
    Slip {
        message,
        rule: rule.into(),
    }
}

/// Returns the program of a run and its digest, where that is registered.
fn program(rules: &Rules, task: Option<&Task>, run: &Run) -> Option<(String, Digest)> {
    let protocol = rules.protocol();
    let command = match (protocol.arm(&run.arm), protocol.control(&run.arm)) {
        (Some(arm), _) => &protocol.arms[arm].command,
        (None, Some(control)) => &control.command,
        (None, None) => return None,
    };
    let fill = |hole: &str| match hole {
        "arm.id" => Some(run.arm.clone()),
        hole => task.and_then(|task| task.fill(hole)),
    };
    let program = template::fill(command.first()?, fill).ok()?;
    let path = program.trim_start_matches("./");
    let digest = rules.registration().files.get(path)?;
    Some((path.to_owned(), *digest))
}

fn word(tier: Containment) -> String {
    let word = serde_json::to_value(tier).unwrap_or_default();
    word.as_str().unwrap_or_default().to_owned()
}
