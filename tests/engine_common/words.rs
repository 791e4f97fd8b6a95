//! Moves and answers as text, so that a test reads as a table.

use prereg::engine::command::Cause;
use prereg::engine::decide::Ruling;
use prereg::engine::event::Event;
use prereg::engine::refusal::{Next, Refusal};
use prereg::engine::slice::State;
use prereg::engine::start::{self, Peek};
use prereg::units::Micros;

use super::design::Design;
use super::{Draft, Given, How, Move, Report, World};

/// Plays a table, `command | ruling` a row, on a record without entries.
pub fn plays(designs: &[Design], rows: &str) {
    let drafts: Vec<Draft> = designs.iter().cloned().map(Draft::of).collect();
    play(World::empty(&drafts), rows);
}

/// Plays a table on a record on which the design is registered.
pub fn plays_registered(design: &Design, rows: &str) {
    let drafts = [Draft::of(design.clone())];
    play(World::registered(&drafts), rows);
}

fn play(mut world: World<'_>, rows: &str) {
    let mut same = true;
    let mut played = String::new();
    for row in rows.lines().map(str::trim).filter(|row| !row.is_empty()) {
        let (command, expected) = row.split_once('|').unwrap_or((row, ""));
        let (command, expected) = (command.trim(), expected.trim());
        let answer = row_answer(&mut world, command);
        let mark = if answer == expected { ' ' } else { '!' };
        same &= answer == expected;
        played.push_str(&format!("{mark} {command:<28} | {answer}\n"));
    }
    assert!(same, "the rows marked `!` were answered so:\n{played}");
}

fn row_answer(world: &mut World<'_>, command: &str) -> String {
    if let Some(duration) = command.strip_prefix("wait ") {
        world.later(duration.parse::<Micros>().unwrap());
        return String::new();
    }
    if command == "peek" {
        let rules = world.rules().unwrap();
        return peeked(&start::peek(rules, &world.slice, world.at));
    }
    answered(&world.give(&read(command)), false)
}

/// Reads a move as a table writes it.
pub fn read(text: &str) -> Move {
    let words: Vec<&str> = text.split_whitespace().collect();
    let number = |word: &str| word.parse::<u64>().unwrap();
    match words.as_slice() {
        ["open", draft] => Move::Open(number(draft) as usize - 1),
        ["register", draft] => Move::Register(number(draft) as usize - 1),
        ["start", task, arm] => Move::start(task, arm),
        ["finish", run] => Move::Finish(number(run), false),
        ["finish", run, "timed-out"] => Move::Finish(number(run), true),
        ["score", run, report] => Move::Score(number(run), report_of(report)),
        ["close", run, cause] => Move::Close(number(run), cause_of(cause)),
        ["expire", run] => Move::Expire(number(run)),
        ["breaker", hand] => Move::Breaker(*hand == "open"),
        ["conclude"] => Move::Conclude,
        ["look", look, tasks, "on"] => Move::Look(number(look), number(tasks), false),
        ["look", look, tasks, "ends"] => Move::Look(number(look), number(tasks), true),
        ["unblind"] => Move::Unblind,
        ["observe", run, level] => Move::End(
            number(run),
            How {
                level: Some(number(level) as i64),
                ..How::default()
            },
        ),
        ["quota", level] => Move::Read(Some(number(level) as i64), None),
        ["session"] => Move::Session,
        ["stop", run] => Move::End(number(run), How::error()),
        ["void", block] => Move::Void(number(block)),
        ["retry", run] => Move::Retry(number(run)),
        ["add", task] => Move::AddTask((*task).to_owned(), Some(1)),
        ["draw", from, tasks @ ..] => {
            let tasks = tasks.iter().map(|task| (*task).to_owned());
            Move::Draw(number(from), tasks.collect())
        }
        ["stranger", ..] => {
            let rest = text.trim_start_matches("stranger");
            Move::Strange(Box::new(read(rest)))
        }
        _ => panic!("no such move: {text}"),
    }
}

fn report_of(word: &str) -> Report {
    let found = Report::ALL
        .into_iter()
        .find(|report| format!("{report:?}").to_lowercase() == word);
    found.unwrap_or_else(|| panic!("no such report: {word}"))
}

fn cause_of(word: &str) -> Cause {
    serde_json::from_value(word.into()).unwrap()
}

/// Says what came of a move; in full, with every place in the plan.
pub fn answered(given: &Given, full: bool) -> String {
    let mut said = String::new();
    for (run, events) in &given.expired {
        said.push_str(&format!("{run} {}; ", told(events, full)));
    }
    said + &ruled(&given.ruling, full)
}

pub fn ruled(ruling: &Ruling, full: bool) -> String {
    match ruling {
        Ok(events) => told(events, full),
        Err(refusal) => refused(refusal),
    }
}

fn told(events: &[Event], full: bool) -> String {
    if events.is_empty() {
        return "nothing".to_owned();
    }
    let told: Vec<String> = events.iter().map(|event| happened(event, full)).collect();
    told.join(", ")
}

/// Says what happened, with every place in the plan where it is to be in full.
pub fn happened(event: &Event, full: bool) -> String {
    match event {
        Event::Opened { draft, .. } => format!("draft {draft}"),
        Event::Registered { slots, .. } => format!("registered, {slots} slots"),
        Event::Started {
            run, place: None, ..
        } => format!("run {run}"),
        Event::Started {
            run,
            place: Some(place),
            ..
        } if full => {
            let pilot = if place.lane.draft == 0 { "" } else { "pilot " };
            format!(
                "{pilot}run {run} at {} in block {}, repeat {} turn {} attempt {}",
                place.position, place.block, place.repeat, place.turn, place.attempt
            )
        }
        Event::Started {
            run,
            place: Some(place),
            ..
        } => match place.attempt {
            1 => format!("run {run}"),
            attempt => format!("run {run}, attempt {attempt}"),
        },
        Event::Ended { .. } => "ended".to_owned(),
        Event::Scored { .. } => "scored".to_owned(),
        Event::Unjudged { cause, .. } => cause.text().to_owned(),
        Event::SlotEnded { .. } => "slot ended".to_owned(),
        Event::SlotWaits { .. } => "slot waits".to_owned(),
        Event::SlotAgain { .. } => "slot again".to_owned(),
        Event::Voided { run } => format!("run {run} void"),
        Event::Tallied { tally, .. } => {
            let errors: u64 = tally.errors.values().sum();
            format!("{errors} of {} stopped", tally.ended)
        }
        Event::BlockVoided {
            block, requeued, ..
        } => {
            let what = if *requeued { "again" } else { "missing" };
            format!("block {block} {what}")
        }
        Event::Priced { run, cost } => format!("run {run} cost {cost}"),
        Event::BlockLasted { span, .. } => format!("block {} took {}", span.block, span.lasted.0),
        Event::Counted { ended, .. } => format!("{ended} slots ended"),
        Event::Read { id, .. } => format!("read {id}"),
        Event::Spent { budget, ledger, .. } => format!("budget {budget}: {} spent", ledger.settled),
        Event::Switched { text } => format!("switch {}", text.as_deref().unwrap_or("unreadable")),
        Event::Preflighted { arm, status } => format!("{arm} {status}"),
        Event::Probed { id, .. } => format!("probed {id}"),
        Event::Checked { passed, .. } => format!("checked {passed}"),
        Event::TaskAdded { task, .. } => format!("added {task}"),
        Event::Drawn { tasks, .. } => format!("drawn {}", tasks.join(" ")),
        Event::Deviated { .. } => "deviated".to_owned(),
        Event::Completed {} => "complete".to_owned(),
        Event::Breaker { failures, open } => breaker(*failures, *open),
        Event::Stopped { code } => format!("stopped {code}"),
        Event::Anchored { entry, .. } => format!("anchored {entry}"),
        Event::Looked { look, stops } => {
            format!("look {look}{}", if *stops { " ends it" } else { "" })
        }
        Event::Unblinded {} => "unblinded".to_owned(),
    }
}

/// Says how the breaker stands.
pub fn breaker(failures: u32, open: bool) -> String {
    format!("breaker {failures}{}", if open { " open" } else { "" })
}

/// Says what was refused.
pub fn refused(refusal: &Refusal) -> String {
    let code = refusal.code();
    match refusal {
        Refusal::OutOfOrder { next } => format!("{code}, {}", next_of(next.as_ref())),
        Refusal::CapReached { runs_max } => format!("{code}, {runs_max}"),
        Refusal::AlreadyClosed {
            state: State::Scored,
            ..
        } => format!("{code}, scored"),
        Refusal::AlreadyClosed {
            cause: Some(cause), ..
        } => format!("{code}, {}", cause.text()),
        Refusal::RegistrationDiffers { differs, .. } => format!("{code}, {}", differs.join(" ")),
        _ => code.to_owned(),
    }
}

pub fn next_of(next: Option<&Next>) -> String {
    next.map_or("next none".to_owned(), |next| {
        format!("next {} {}", next.task, next.arm)
    })
}

pub fn peeked(peek: &Peek) -> String {
    match peek {
        Peek::Expire(run) => format!("expire {run}"),
        Peek::Look(due) => format!("look {} {}", due.look, due.tasks),
        Peek::Start(next) => format!("start {} {}", next.task, next.arm),
        Peek::Refused(refusal) => format!("refused {}", refusal.code()),
        Peek::Wait => "wait".to_owned(),
        Peek::Complete => "complete".to_owned(),
    }
}
