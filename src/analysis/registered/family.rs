//! How several tests share the level, which comparisons may decide anything, and what it all comes to.

use super::Registered;
use super::answer::{AnsweredComparison, ControlAnswer, Flow, LookTable, Verdict};
use super::flow;
use crate::analysis::described::controls::Gate as ControlGate;
use crate::analysis::multiplicity::{Multiplicity, rejects};
use crate::protocol::defect::Code;
use crate::protocol::model::{Gate, Inference, MultiplicityMethod};

/// What was computed of each comparison by itself.
pub(super) struct Computed {
    pub(super) primary: Vec<AnsweredComparison>,
    pub(super) secondary: Vec<AnsweredComparison>,
    pub(super) looks: Vec<LookTable>,
    /// Whether looks are registered, also where their schedule has no boundaries.
    pub(super) scheduled: bool,
    /// Whether one of them has ended the study: what else was to be compared has no share of the level then.
    pub(super) stopped: bool,
}

/// The comparisons with what they may decide, and the verdict.
pub(super) struct Decided {
    pub(super) computed: Computed,
    pub(super) verdict: Verdict,
}

/// Takes the comparisons together.
pub(super) fn decide(
    registered: &Registered<'_>,
    mut computed: Computed,
    flow: &Flow,
    controls: &[ControlAnswer],
) -> Decided {
    let blocked = blocked(registered, flow, controls);
    let method = registered.analysis.multiplicity.as_ref();
    if computed.primary.len() > 1 {
        adjust(method.map(|rule| rule.method), &mut computed.primary);
    }
    adjust(method.map(|rule| rule.method), &mut computed.secondary);
    for primary in &mut computed.primary {
        let looks = computed.looks.iter();
        let mut looks = looks.filter(|table| table.treatment == primary.treatment);
        let looks = looks.next().map_or(&[][..], |table| &table.looks);
        primary.decide(blocked.is_none());
        // The last look has what the others left of the level.
        if computed.scheduled {
            primary.level = looks.last().and_then(|last| last.nominal_p).unwrap_or(0.0);
            primary.rejects = looks.iter().any(|look| look.rejects);
            if let Some(last) = looks.last().filter(|last| last.nominal_p.is_some()) {
                primary.result = last.result;
                primary.interval_agrees = None;
            }
        }
    }
    let gated = method.is_some_and(|rule| rule.gate == Gate::Primary);
    for secondary in &mut computed.secondary {
        let mut primaries = computed.primary.iter();
        let gate = primaries.find(|primary| primary.treatment == secondary.treatment);
        let open = !gated || gate.is_some_and(|primary| primary.rejects);
        secondary.decide(blocked.is_none() && open && !computed.stopped);
    }
    let shown = computed.primary.iter().filter(|one| one.rejects).count();
    let verdict = blocked.unwrap_or(match shown {
        0 => Verdict::NotShown,
        some if some == computed.primary.len() => Verdict::Shown,
        _ => Verdict::ShownForSome,
    });
    Decided { computed, verdict }
}

impl AnsweredComparison {
    fn decide(&mut self, confirmatory: bool) {
        self.rejects = rejects(self.p_adjusted, self.level);
        self.confirmatory = confirmatory;
    }
}

/// Returns why no comparison may decide anything, where that is so.
fn blocked(
    registered: &Registered<'_>,
    flow: &Flow,
    controls: &[ControlAnswer],
) -> Option<Verdict> {
    let failed = |control: &ControlAnswer| control.result.gate != ControlGate::Pass;
    let limitations = &registered.protocol.limitations;
    let descriptive = registered.analysis.inference == Inference::TasksFixed
        || limitations.contains_key(Code::FewTasks.text());
    let too_many = flow::is_too_much(flow.missing, flow.compared, flow.missing_share_max);
    if controls.iter().any(failed) {
        Some(Verdict::ControlFailed)
    } else if too_many {
        Some(Verdict::Incomplete)
    } else {
        descriptive.then_some(Verdict::Descriptive)
    }
}

fn adjust(method: Option<MultiplicityMethod>, family: &mut [AnsweredComparison]) {
    let Some(method) = method else { return };
    let method = match method {
        MultiplicityMethod::Holm => Multiplicity::Holm,
        MultiplicityMethod::Hochberg => Multiplicity::Hochberg,
        MultiplicityMethod::Bonferroni => Multiplicity::Bonferroni,
    };
    let raw: Vec<Option<f64>> = family.iter().map(|one| one.p).collect();
    for (one, adjusted) in family.iter_mut().zip(method.adjust(&raw)) {
        one.p_adjusted = adjusted;
    }
}
