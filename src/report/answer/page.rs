//! The page, section by section.

use super::numbers::{Scale, p_value, percent, rounded};
use super::sentence::{conclusion, effect, level, sentence};
use crate::analysis::registered::answer::{
    Answer, ArmDescribed, ArmFlow, Compared, Exposed, LookTable, PairDescribed, Row, Tipping,
};
use crate::protocol::model::Protocol;
use crate::record::entry::Head;
use crate::units::{Digest, Micros, Money};

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
    /// The rule that ended the study before its last slot had.
    pub stopped: Option<String>,
}

/// How wide a paragraph is.
const WIDTH: usize = 78;

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
    for arm in &answer.arms {
        described(&mut page, arm);
    }
    for pair in &answer.described {
        pairs(&mut page, answer, pair);
    }
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

/// Writes a heading of one line.
fn heading(page: &mut String, word: &str, text: &str) {
    if !page.is_empty() {
        page.push('\n');
    }
    page.push_str(&format!("{word:<11} {text}\n"));
}

/// Writes a line below a heading.
fn line(page: &mut String, name: &str, text: &str) {
    page.push_str(format!("  {name:<24} {text}").trim_end());
    page.push('\n');
}

/// Writes a paragraph, wrapped between words.
fn wrapped(page: &mut String, word: &str, text: &str) {
    let mut lines: Vec<String> = vec![String::new()];
    for part in text.split_whitespace() {
        let room = WIDTH - 12;
        match lines.last_mut() {
            Some(last) if last.is_empty() => last.push_str(part),
            Some(last) if last.chars().count() + 1 + part.chars().count() <= room => {
                last.push(' ');
                last.push_str(part);
            }
            _ => lines.push(part.to_owned()),
        }
    }
    for (i, text) in lines.iter().enumerate() {
        let word = if i == 0 { word } else { "" };
        page.push_str(&format!("{word:<11} {text}\n"));
    }
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
    let exposure = &arm.exposure;
    let time = exposure.milliseconds.map(|time| {
        let time = Micros(time.saturating_mul(1000));
        format!("; {time} in {} runs", exposure.timed)
    });
    let cost = exposure
        .micro_dollars
        .map(|cost| format!("; {} in {} runs", Money(cost), exposure.priced));
    format!(
        "{} slots: {} scored, {} unjudged{causes}, {} open{}{}",
        arm.slots,
        arm.scored,
        arm.unjudged,
        arm.open,
        time.unwrap_or_default(),
        cost.unwrap_or_default()
    )
}

fn comparison(page: &mut String, answer: &Answer, compared: &Compared) {
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

fn sensitivity(compared: &Compared, row: &Row) -> String {
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

fn described(page: &mut String, arm: &ArmDescribed) {
    heading(page, "arm", &arm.arm);
    for outcome in &arm.outcomes {
        let text = match (&outcome.count, &outcome.quantiles) {
            (Some(count), _) => format!("{count} of {} known", outcome.known),
            (None, Some(quantiles)) => {
                let shown = |value: Option<f64>| {
                    value.map_or_else(|| "-".to_owned(), |value| rounded(value, 4))
                };
                format!(
                    "median {} (quarters {} and {}) of {} known",
                    shown(quantiles.median),
                    shown(quantiles.q25),
                    shown(quantiles.q75),
                    outcome.known
                )
            }
            (None, None) => "no value".to_owned(),
        };
        line(page, &outcome.outcome, &text);
    }
    for stratum in &arm.by_turn {
        let mean = stratum
            .mean
            .map_or_else(|| "-".to_owned(), |mean| rounded(mean, 3));
        let text = format!("mean {mean} in {} slots", stratum.known);
        line(
            page,
            &format!("started as number {}", stratum.stratum),
            &text,
        );
    }
    for stratum in &arm.subgroups {
        let mean = stratum
            .mean
            .map_or_else(|| "-".to_owned(), |mean| rounded(mean, 3));
        let field = stratum.field.as_deref().unwrap_or_default();
        let text = format!("mean {mean} in {} slots", stratum.known);
        line(page, &format!("{field} {}", stratum.stratum), &text);
    }
}

fn pairs(page: &mut String, answer: &Answer, pair: &PairDescribed) {
    let mut lines: Vec<(String, String)> = Vec::new();
    if let Some(passes) = &pair.pass_k {
        for ((key, a), (_, b)) in passes.a.passes.0.iter().zip(&passes.b.passes.0) {
            let shown = |value: &Option<f64>| value.map_or_else(|| "-".to_owned(), percent);
            lines.push((key.clone(), format!("{} against {}", shown(b), shown(a))));
        }
    }
    if let Some([a, b]) = &pair.claims {
        for (what, counts) in [
            ("false claims", [a.claimed_unresolved, b.claimed_unresolved]),
            ("honest failures", [a.honest_failures, b.honest_failures]),
        ] {
            let [a, b] = counts;
            lines.push((what.to_owned(), format!("{b} against {a}")));
        }
    }
    if let Some(times) = &pair.time_to_success {
        let text = format!(
            "{} against {} of {} slots within {} s",
            times.b.solved_within_limit, times.a.solved_within_limit, times.b.slots, times.limit
        );
        lines.push(("solved in time".to_owned(), text));
    }
    if let Some(costs) = &pair.cost_effectiveness {
        let shown =
            |value: Option<f64>| value.map_or_else(|| "-".to_owned(), |value| rounded(value, 3));
        let text = format!(
            "{} against {} USD a success",
            shown(costs.cost_per_resolved_b),
            shown(costs.cost_per_resolved_a)
        );
        lines.push(("cost".to_owned(), text));
    }
    if lines.is_empty() {
        return;
    }
    let reference = answer.primary.first().map_or("", |one| &one.reference);
    heading(
        page,
        "described",
        &format!("{} against {reference}, without a test", pair.treatment),
    );
    for (name, text) in lines {
        line(page, &name, &text);
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
}

fn methods(page: &mut String, study: &Study<'_>, answer: &Answer) {
    heading(
        page,
        "methods",
        &format!("alpha {}; one value a task and arm", answer.alpha),
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
