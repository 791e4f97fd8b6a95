//! The planted arms that test the instrument.

use super::page::{Page, code, command};
use crate::protocol::model::{Control, Expect, Protocol};

/// Says each control, and what it must show.
pub(super) fn section(page: &mut Page, protocol: &Protocol) {
    page.heading(3, "Controls");
    if protocol.controls.is_empty() {
        page.say("There is no control: no planted arm tests what judges the runs.");
        return;
    }
    page.say("A control is a planted arm that tests what judges the runs:");
    for control in &protocol.controls {
        let Control {
            id,
            command: words,
            expect,
            outcome,
        } = control;
        let must = match expect {
            Expect::AllResolved => "must hold on every task",
            Expect::NoneResolved => "must hold on no task",
        };
        page.item(format!(
            "{} executes {}; the outcome {} {must}.",
            code(id),
            command(words),
            code(outcome)
        ));
    }
    page.item(
        "`prereg run` executes each control once for each drawn task, before the task's first \
         slot. The first result of each stands.",
    );
    page.item(
        "Runs of controls are in no comparison and in no outage window. A start of one has to \
         pass only the switch, the list of tasks, the breaker and the number of live runs.",
    );
    page.item("A control sees the task's folder as `PREREG_TASK_DIR`; an arm does not.");
    page.item("If one control is violated, the report's headline is that the control failed.");
}
