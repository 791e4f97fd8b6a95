//! What is compared: the arms, and how they are executed.

use std::collections::BTreeMap;

use super::page::{Page, code, command};
use super::words::{counted, listed, names};
use super::{controls, execution};
use crate::protocol::model::{Arm, Executed, Protocol};
use crate::units::Digest;

/// Says the arms, how every run is executed, and the controls.
pub(super) fn section(page: &mut Page, protocol: &Protocol, files: &BTreeMap<String, Digest>) {
    page.heading(2, "What is compared?");
    let arms: Vec<String> = protocol.arms.iter().map(|arm| code(&arm.id)).collect();
    page.say(&format!(
        "{}, in this order: {}.",
        counted(arms.len() as u64, "condition (arm)", "conditions (arms)"),
        listed(&arms)
    ));
    let analysis = protocol.analysis.as_ref();
    let reference = match analysis {
        Some(analysis) => analysis.reference.as_str(),
        None => protocol.arms.first().map_or("", |arm| arm.id.as_str()),
    };
    for arm in &protocol.arms {
        let part = if arm.id == reference {
            ", the reference"
        } else if analysis.is_some_and(|analysis| analysis.treatments.contains(&arm.id)) {
            ", a treatment"
        } else if analysis.is_some() {
            ", in no comparison"
        } else {
            ""
        };
        page.heading(3, &format!("Arm {}{part}", code(&arm.id)));
        one(page, protocol, arm, reference, files);
    }
    executed(page, protocol);
    controls::section(page, protocol);
}

fn executed(page: &mut Page, protocol: &Protocol) {
    page.heading(3, "How a run is executed");
    page.say("For every control, and for every arm unless it says otherwise above:");
    let said = execution::sentences(&protocol.execution).into_iter();
    for sentence in said.filter(|sentence| !sentence.is_idle) {
        page.item(sentence.text);
    }
    page.item(
        "Its environment holds nothing else but what prereg itself sets, in variables whose names \
         begin with `PREREG_`.",
    );
    page.item(
        "In commands, paths and variables `{task.…}`, `{arm.…}` and `{run.…}` stand for what the \
         task, the arm and the run have under that name.",
    );
}

fn one(
    page: &mut Page,
    protocol: &Protocol,
    arm: &Arm,
    reference: &str,
    digests: &BTreeMap<String, Digest>,
) {
    let Arm {
        id,
        command: words,
        executed,
        files,
        differs,
        execution,
    } = arm;
    page.item(format!("It executes {}.", command(words)));
    page.item(place(*executed));
    for (to, from) in files {
        let digest = digests
            .get(from)
            .map_or(String::new(), |digest| format!(" (`sha256:{digest}`)"));
        page.item(format!(
            "The file {}{digest} is laid into its workspace as {}.",
            code(from),
            code(to)
        ));
    }
    if let Some(difference) = difference(id, differs, reference) {
        page.item(difference);
    }
    let base = execution::sentences(&protocol.execution);
    let own = execution::sentences(execution).into_iter();
    for (sentence, _) in own.zip(base).filter(|(own, base)| own != base) {
        page.item(sentence.text);
    }
}

fn difference(arm: &str, differs: &[String], reference: &str) -> Option<String> {
    let is_reference = arm == reference;
    let (keys, reference) = (names(differs), code(reference));
    match (differs, is_reference) {
        ([], true) => None,
        ([], false) => Some(format!(
            "It differs from {reference} in nothing but its name."
        )),
        (_, true) => Some(format!(
            "It declares that it may differ in {keys}; it is the reference itself."
        )),
        (_, false) => Some(format!(
            "It may differ from {reference} in {keys}, and is equal to it in everything else."
        )),
    }
}

fn place(executed: Executed) -> &'static str {
    match executed {
        Executed::Here => "Its runs are executed here, by `prereg run`.",
        Executed::Elsewhere => {
            "Its runs are executed elsewhere: each is started by hand, with a reference to where \
             it can be found, and is not preflighted."
        }
    }
}
