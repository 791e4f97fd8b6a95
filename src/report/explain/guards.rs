//! What a start has to pass, in the order in which it is looked at.

use super::page::Page;
use crate::protocol::model::Protocol;

/// Says the guards that a protocol has, the first to answer first.
pub(super) fn section(page: &mut Page, protocol: &Protocol) {
    page.heading(3, "What a start has to pass");
    let fits = protocol.stages.iter().any(|stage| stage.fits.is_some());
    let guards = [
        (protocol.switch.is_some(), "the switch is on"),
        (true, "the task and the arm are known"),
        (protocol.breaker.is_some(), "the breaker is not open"),
        (true, "the registration is recorded and the task is drawn"),
        (protocol.preflight.is_some(), "the preflight is ready"),
        (!protocol.probes.is_empty(), "no probe has changed"),
        (!protocol.stops.is_empty(), "no stop fires"),
        (!protocol.holds.is_empty(), "no hold fires"),
        (!protocol.stages.is_empty(), "the stage is open"),
        (protocol.cutoff.is_some(), "the cut-off has not come"),
        (fits, "the block fits before the cut-off"),
        (!protocol.budgets.is_empty(), "no budget would be exceeded"),
        (
            protocol
                .outage
                .as_ref()
                .is_some_and(|outage| outage.pauses_starts),
            "there is no outage",
        ),
        (true, "the arm has a slot on the task that is not used up"),
        (true, "the slot is the one whose turn it is"),
        (true, "the number of live runs allows one more"),
    ];
    let guards: Vec<&str> = guards
        .into_iter()
        .filter(|(registered, _)| *registered)
        .map(|(_, guard)| guard)
        .collect();
    page.item(format!(
        "In this order, and the first that does not hold refuses: {}.",
        guards.join("; ")
    ));
    page.item("A refusal is recorded, names the rule and changes nothing.");
    if !protocol.holds.is_empty() {
        page.item("Asking while a hold makes starts wait is not recorded.");
    }
}
