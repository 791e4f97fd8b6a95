//! The verb `status`: where a study stands.

use serde_json::{Value, json};

use super::args::Status;
use super::by_hand::ByHand;
use super::reply::{Failure, Reply};
use super::results;
use super::run::count;
use super::seal::{is_sealed, look};
use super::study::find_record;
use crate::engine::looks::Due;
use crate::engine::preflight;
use crate::engine::rules::Rules;
use crate::engine::slice::Standing;
use crate::engine::start::Peek;
use crate::runner::clock;

/// Shows where a study stands.
pub(super) fn status(args: &Status, as_json: bool) -> Result<Reply, Failure> {
    let record = find_record(args.named.said())?;
    let mut store = look(&record, &args.looks)?;
    let standing = store.standing()?;
    let Some(rules) = store.rules()? else {
        return Ok(Reply::done(
            "empty       no protocol stands on this record\n",
            json!({ "state": "empty" }),
        ));
    };
    let sealed = is_sealed(&rules, &standing) && !args.looks.unblind;
    let tally = if sealed {
        None
    } else {
        Some(count(&mut store)?)
    };
    let head = store.head()?;
    let mut text = registered(&rules, &standing);
    text.push_str(&format!(
        "  slots     {} of {} ended   {} live   {} started in all\n",
        standing.slots_ended,
        rules.slots(&standing),
        standing.live.len(),
        standing.runs
    ));
    let (complete, blocks) = store.blocks_complete()?;
    text.push_str(&format!("  blocks    {complete} of {blocks} complete\n"));
    for (arm, counts) in &standing.arms {
        text.push_str(&format!(
            "  {arm:<9} {} started, {} scored, {} unjudged\n",
            counts.started, counts.scored, counts.unjudged
        ));
    }
    let ready = readiness(&rules, &standing);
    text.push_str(&ready.line);
    let next = store.peek(clock::now())?;
    text.push_str(&next_line(&next, &standing));
    if standing.pilots > 0 {
        text.push_str(&format!(
            "  pilots    {} runs, in no analysis\n",
            standing.pilots
        ));
    }
    for said in results::clocks(&standing.clock) {
        text.push_str(&format!("  clock     {said}\n"));
    }
    let by_hand = ByHand::of(&mut store)?;
    text.push_str(&by_hand.text(&standing));
    match &tally {
        None => text.push_str("  outcomes  sealed until the study has ended\n"),
        Some(tally) => {
            if !standing.has_ended() {
                text.push_str("  so far    slots that have not ended count as missing\n");
            }
            text.push_str(&results::failed_controls(&tally.controls).unwrap_or_default());
            text.push_str(&results::table(tally));
        }
    }
    text.push_str(&anchors_line(&standing, head.seq));
    text.push_str(&format!(
        "  head      {} {}   {}\n",
        head.seq,
        head.digest.short(),
        record.display()
    ));
    // Each block costs a look at its runs, which people are not shown.
    let blocks = if as_json { store.blocks()? } else { Vec::new() };
    let json = json!({ "study": rules.protocol().study.id, "standing": standing, "blocks": blocks, "next": next_json(&next), "preflight": ready.json, "sealed": sealed, "tally": tally, "deviations": by_hand.deviations(), "voids": by_hand.voids(), "unblindings": by_hand.unblindings(), "head": head });
    Ok(Reply::done(text, json))
}

/// Says which heads the record says were published; nothing where it says none.
fn anchors_line(standing: &Standing, head: u64) -> String {
    if standing.anchors == 0 {
        return String::new();
    }
    let after = head.saturating_sub(standing.anchored);
    let lie = results::counted(after, "entry lies", "entries lie");
    format!(
        "  anchors   {} recorded, the newest of entry {}; {lie} after it\n",
        standing.anchors, standing.anchored
    )
}

/// What the preflights of the arms say together.
struct Readiness {
    line: String,
    json: Value,
}

/// Takes the preflights together, where every arm must be ready before anything starts.
fn readiness(rules: &Rules, standing: &Standing) -> Readiness {
    if rules.protocol().preflight.is_none() {
        return Readiness {
            line: String::new(),
            json: Value::Null,
        };
    }
    let said = || standing.preflight.values().map(String::as_str);
    let (overall, counts) = (preflight::overall(said()), preflight::counts(said()));
    let words = match (overall, counts) {
        (Err(preflight::Fault::Empty), _) => "no arm was looked at yet".to_owned(),
        (Err(preflight::Fault::UnknownStatus), _) => {
            "an arm gave no answer that is known".to_owned()
        }
        (Ok(overall), Ok(counts)) => format!(
            "{}: {} ready, {} need a registration, {} not implemented",
            overall.text(),
            counts.ready,
            counts.registration_required,
            counts.implementation_gap
        ),
        (Ok(overall), Err(_)) => overall.text().to_owned(),
    };
    Readiness {
        line: format!("  preflight {words}\n"),
        json: json!({ "overall": overall.ok(), "counts": counts.ok() }),
    }
}

/// Says what would start next, or the rule that would say no; nothing where all is over.
fn next_line(next: &Peek, standing: &Standing) -> String {
    if standing.registered.is_none() || standing.has_ended() {
        return String::new();
    }
    match next {
        Peek::Start(next) => format!("  next      {} on `{}`\n", next.arm, next.task),
        Peek::Refused(refusal) => format!("  next      {}: {refusal}\n", refusal.code()),
        Peek::Expire(run) => {
            format!("  next      run {run} is closed, whose deadline has passed\n")
        }
        Peek::Look(Due { look, tasks, .. }) => {
            format!("  next      look {look}, at the first {tasks} tasks of the draw\n")
        }
        Peek::Wait => {
            "  next      nothing until a run that is open has ended or is scored\n".to_owned()
        }
        Peek::Complete => String::new(),
    }
}

fn next_json(next: &Peek) -> Value {
    match next {
        Peek::Start(next) => json!({ "start": next }),
        Peek::Refused(refusal) => json!({ "refused": refusal }),
        Peek::Expire(run) => json!({ "expire": run }),
        Peek::Look(Due { look, tasks, .. }) => json!({ "look": look, "tasks": tasks }),
        Peek::Wait | Peek::Complete => Value::Null,
    }
}

fn registered(rules: &Rules, standing: &Standing) -> String {
    let id = &rules.protocol().study.id;
    let state = match (standing.registered, standing.completed) {
        (Some(digest), None) if standing.stopped.is_some() => {
            let stopped = standing.stopped.as_ref();
            let stopped = stopped.map(|stopped| format!("{} at {}", stopped.code, stopped.at));
            let stopped = stopped.unwrap_or_default();
            format!(
                "registered, sha256:{}, stopped by {stopped}",
                digest.short()
            )
        }
        (None, _) => format!("draft {}, not registered", standing.draft),
        (Some(digest), None) => format!("registered, sha256:{}, under way", digest.short()),
        (Some(digest), Some(at)) => {
            format!("registered, sha256:{}, complete since {at}", digest.short())
        }
    };
    format!("{id}   {state}\n")
}
