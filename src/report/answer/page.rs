//! The page, section by section.

use super::described;
use super::numbers::{Scale, level, p_value, percent, rounded};
use super::sentence::{conclusion, effect, sentence};
use crate::analysis::registered::answer::{
    Answer, AnsweredComparison, ArmFlow, Exposed, LookTable, Row, Tipping,
};
use crate::protocol::model::Protocol;
use crate::record::entry::Head;
use crate::report::explain::decimal;
use crate::report::layout::{heading, line, wrapped};
use crate::units::Digest;

/// Of which study an answer is.
pub struct Study<'a> {
    /// The protocol.
    pub protocol: &'a Protocol,
    /// The registration.
    pub digest: Digest,
    /// The head of the record that was read.
    pub head: Head,
    /// The record, as it was named.
    pub record: String,
}

/// How a study was conducted.
pub struct Conduct {
    /// What was done by hand, told in full, one line each.
    pub told: String,
    /// How many runs were started.
    pub runs: u64,
    /// How many of them before the registration.
    pub pilots: u64,
    /// How many somebody reported by hand although they were to be executed here.
    pub reported_by_hand: u64,
    /// The rule that ended the study before its last slot had.
    pub stopped: Option<String>,
}

/// Returns the page.
pub fn page(study: &Study<'_>, answer: &Answer, conduct: &Conduct) -> String {
    let mut page = paragraph(answer);
    flow(&mut page, answer);
    for compared in &answer.primary {
        comparison(&mut page, answer, compared);
    }
    for compared in &answer.secondary {
        comparison(&mut page, answer, compared);
    }
    for table in &answer.looks {
        looks(&mut page, answer, table);
    }
    described::tasks(&mut page, answer);
    described::cost_and_time(&mut page, answer);
    conducted(&mut page, conduct);
    methods(&mut page, study, answer);
    page
}

/// Returns the answer in one paragraph.
pub fn paragraph(answer: &Answer) -> String {
    let mut text = String::new();
    wrapped(&mut text, "answer", &sentence(answer));
    text
}

fn flow(page: &mut String, answer: &Answer) {
    let flow = &answer.flow;
    let text = format!(
        "{} tasks drawn, {} slots; {} tasks with every slot scored",
        flow.tasks_drawn, flow.slots, flow.complete_blocks
    );
    heading(page, "flow", &text);
    for arm in &flow.arms {
        line(page, &arm.arm, &arm_flow(arm));
        if let Some(Exposed { yes, no, unknown }) = arm.exposed {
            let text = format!("{yes} scored runs exposed, {no} not, {unknown} unknown");
            line(page, "", &text);
        }
    }
    for control in &answer.controls {
        let result = &control.result;
        let mut text = format!(
            "{} of {} as expected",
            result.n - result.violations,
            result.n
        );
        if control.unjudged > 0 {
            text.push_str(&format!(", {} without a verdict", control.unjudged));
        }
        if let Some(limit) = result.error_rate_upper95 {
            text.push_str(&format!(
                "; the judge errs in at most {} (95 %)",
                percent(limit)
            ));
        }
        line(page, &format!("control {}", control.id), &text);
    }
}

fn arm_flow(arm: &ArmFlow) -> String {
    let causes = arm.unjudged_by_reason.iter();
    let causes: Vec<String> = causes
        .map(|(cause, count)| format!("{count} {cause}"))
        .collect();
    let causes = match causes.is_empty() {
        true => String::new(),
        false => format!(" ({})", causes.join(", ")),
    };
    format!(
        "{} slots: {} scored, {} unjudged{causes}, {} open",
        arm.slots, arm.scored, arm.unjudged, arm.open
    )
}

fn comparison(page: &mut String, answer: &Answer, compared: &AnsweredComparison) {
    page.push('\n');
    wrapped(page, &compared.id, &effect(answer, compared));
    let said = conclusion(answer, compared);
    let said = said.unwrap_or_else(|| "descriptive: it decides nothing".to_owned());
    wrapped(page, "", &said);
    if compared.p_adjusted != compared.p
        && let Some(p) = compared.p_adjusted
    {
        line(page, "with the other tests", &p_value(p));
    }
    for row in &compared.sensitivity {
        line(
            page,
            &row.estimand.replace('_', " "),
            &sensitivity(compared, row),
        );
    }
    let signs = compared.signs;
    let text = format!(
        "{} up, {} down, {} the same",
        signs.up, signs.down, signs.same
    );
    line(page, "tasks", &text);
    if let Some(tipping) = compared.tipping_point {
        line(page, "tipping point", &tipped(tipping));
    }
    if compared.beside.few_clusters {
        line(page, "few clusters", "the clustered error is doubtful");
    }
}

fn sensitivity(compared: &AnsweredComparison, row: &Row) -> String {
    let scale = Scale::of(compared);
    let estimate = row.result.estimate.map(|value| scale.effect(value));
    let interval = row.result.ci.map(|[low, high]| {
        let level = level(row.result.ci_level);
        format!("{level} {} to {}", scale.end(low), scale.end(high))
    });
    format!(
        "{:<16} {:<26} {} tasks",
        estimate.unwrap_or_else(|| "not defined".to_owned()),
        interval.unwrap_or_else(|| "no interval".to_owned()),
        row.tasks
    )
}

fn tipped(tipping: Tipping) -> String {
    match tipping.successes {
        Some(successes) => format!(
            "the decision turns if {successes} of {} missing slots of the treatment are successes",
            tipping.of
        ),
        None => format!(
            "none: no successes in {} missing slots of the treatment turn the decision",
            tipping.of
        ),
    }
}

fn looks(page: &mut String, answer: &Answer, table: &LookTable) {
    let mut treatment = String::new();
    if answer.primary.len() > 1 {
        treatment = format!(" of {}", table.treatment);
    }
    heading(
        page,
        "looks",
        &format!("at the first tasks of the draw{treatment}"),
    );
    for look in &table.looks {
        let p = look.p.map_or_else(|| "no p".to_owned(), p_value);
        let nominal = look
            .nominal_p
            .map_or_else(|| "nothing".to_owned(), |p| rounded(p, 3));
        let decision = if look.rejects { "rejects" } else { "goes on" };
        let text = format!(
            "{} tasks   {p}   rejects at {nominal} or less   {decision}",
            look.tasks
        );
        line(page, &percent(look.fraction), &text);
    }
    if let Some(p) = table.evalue.as_ref().and_then(|evalue| evalue.p_anytime) {
        line(page, "at any time", &p_value(p));
    }
}

fn conducted(page: &mut String, conduct: &Conduct) {
    let ended = match &conduct.stopped {
        Some(code) => format!("stopped by a registered rule: {code}"),
        None => "every slot has ended".to_owned(),
    };
    let pilots = match conduct.pilots {
        0 => String::new(),
        pilots => format!(", {pilots} of them pilots before the registration"),
    };
    heading(
        page,
        "conduct",
        &format!("{} runs{pilots}; {ended}", conduct.runs),
    );
    match conduct.told.is_empty() {
        true => page.push_str("  no deviation is recorded\n"),
        false => page.push_str(&conduct.told),
    }
    if conduct.reported_by_hand > 0 {
        page.push_str(&format!(
            "  by hand   {} of the runs were started and reported by hand; registered is that `prereg run` executes them\n",
            conduct.reported_by_hand
        ));
    }
}

fn methods(page: &mut String, study: &Study<'_>, answer: &Answer) {
    heading(
        page,
        "methods",
        &format!(
            "alpha {}; one value a task and arm",
            decimal(answer.alpha.num, answer.alpha.den)
        ),
    );
    for compared in answer.primary.iter().chain(&answer.secondary) {
        let word = |value: serde_json::Value| value.as_str().unwrap_or_default().to_owned();
        let text = format!(
            "{}, {}, {}, interval {}",
            word(serde_json::json!(compared.estimand)),
            word(serde_json::json!(compared.effect)),
            word(serde_json::json!(compared.test)),
            word(serde_json::json!(compared.interval)),
        );
        line(page, &compared.id, &text);
    }
    for (code, reason) in &study.protocol.limitations {
        line(page, &format!("limitation {code}"), reason);
    }
    line(page, "registration", &study.digest.to_string());
    let head = format!(
        "{} {}   {}",
        study.head.seq, study.head.digest, study.record
    );
    line(page, "head", &head);
}
