//! `run`: registers if need be, then executes until nothing is left to start.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io::IsTerminal;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use serde_json::json;

use super::analyze::registered_answer;
use super::args::Run;
use super::exit::Exit;
use super::looks;
use super::progress::Bar;
use super::protocol::{plan_line, register_in, registered_lines};
use super::reply::{Failure, Reply, registered};
use super::results;
use super::study::{Before, ProtocolFile, apply, folder_of, name_of};
use crate::engine::backoff;
use crate::engine::command::Action;
use crate::engine::refusal::Refusal;
use crate::engine::rules::Rules;
use crate::protocol::model::CauseWord;
use crate::report::answer;
use crate::report::tally::Tally;
use crate::runner::process::SpawnFault;
use crate::runner::recovery;
use crate::runner::session::{self, Brake, End, Session};
use crate::runner::signals::{self, Wish};
use crate::runner::{clock, programs};
use crate::store::{Request, Store};
use crate::units::{Digest, Time};

/// Runs a study as far as it goes.
pub(super) fn run(args: &Run) -> Result<Reply, Failure> {
    let loaded = ProtocolFile::read(&args.file)?;
    loaded.enforced()?;
    let record = loaded.record(args.db.as_deref());
    let before = Before::of(&record)?;
    loaded.play_if_new(before.opened)?;
    must_fit(&loaded, args, &before)?;
    if args.pilot || !before.over {
        must_have_programs(&loaded)?;
    }
    let probes = if args.pilot {
        Vec::new()
    } else {
        looks::binding(&loaded, &before)?
    };
    let mut store = Store::create(&record, clock::now)?;
    let bar = Arc::new(Bar::new(args.quiet));
    let announced = admit(&mut store, &loaded, probes, args, &bar)?;
    let standing = store.standing()?;
    // What has failed may be attempted again on request, also once every slot has ended.
    let again = args.retry_failed && standing.stopped.is_none();
    if !args.pilot && standing.has_ended() && !again {
        let runs = runs_folder(&store, &record)?;
        recovery::tidy(&mut store, &runs)?;
        return match &standing.stopped {
            Some(stopped) => over(&mut store, &record, &stopped.code, "nothing to do"),
            None => finished(&mut store, &record, "; nothing to do", false),
        };
    }
    let plan = if args.pilot {
        "the pilot splits".to_owned()
    } else {
        plan_line(&loaded)
    };
    if announced && !args.quiet {
        bar.say(&format!("plan        {plan}"));
    }
    let end = execute(&mut store, &loaded, args, &record, &bar)?;
    match end {
        End::Complete if args.pilot => pilot_done(&mut store),
        End::Complete => finished(&mut store, &record, &format!(" in {}", bar.elapsed()), true),
        End::DrawnOut => drawn_out(&mut store, &loaded, &go_on(args)),
        End::Refused(refusal) if store.standing()?.stopped.is_some() => {
            over(&mut store, &record, refusal.code(), &refusal.to_string())
        }
        End::Refused(refusal) if matches!(refusal, Refusal::StopFired { .. }) => {
            stopped(&mut store, &loaded, &refusal)
        }
        End::Refused(refusal) => held(&mut store, &loaded, &refusal, &go_on(args)),
        End::Waiting => waiting(&mut store),
        End::Interrupted => interrupted(&mut store, &go_on(args)),
    }
}

/// Puts the protocol on the record, registered or for a pilot; returns whether that was told.
fn admit(
    store: &mut Store,
    loaded: &ProtocolFile,
    probes: Vec<Action>,
    args: &Run,
    bar: &Bar,
) -> Result<bool, Failure> {
    if args.pilot {
        apply(
            store,
            Request {
                actor: args.actor.clone(),
                key: None,
                expects: None,
                action: loaded.open(),
            },
        )?;
        return Ok(true);
    }
    let new = register_in(store, loaded, probes, &args.actor)?;
    if new && !args.quiet {
        bar.say(registered_lines(loaded).trim_end());
    }
    Ok(new)
}

/// Refuses to go on without a program: each start of its runs would use up an attempt.
fn must_have_programs(loaded: &ProtocolFile) -> Result<(), Failure> {
    let protocol = &loaded.checked.registration.protocol;
    programs::must_exist(protocol, &loaded.base, &environment()).map_err(|fault| {
        let beside = match &fault {
            SpawnFault::NotOnPath { program } if loaded.base.join(program).is_file() => {
                format!(" (one stands beside the protocol: write `./{program}`)")
            }
            _ => String::new(),
        };
        Failure::Fault {
            code: fault.code(),
            message: format!("{fault}{beside}; nothing was started"),
        }
    })
}

/// Returns what the arms' own environment is taken from.
pub(super) fn environment() -> BTreeMap<OsString, OsString> {
    std::env::vars_os().collect()
}

/// Refuses a command line that does not fit the protocol, before anything is written.
fn must_fit(loaded: &ProtocolFile, args: &Run, before: &Before) -> Result<(), Failure> {
    let pilot = loaded.checked.drawn.pilot.first();
    let pilot = pilot.map(|task| loaded.checked.tasks[*task].id.clone());
    let usage = |code, message: &str| {
        Err(Failure::Usage {
            code,
            message: message.to_owned(),
        })
    };
    match pilot {
        None if args.pilot => usage("no-pilot", "no task of this protocol is in a pilot split"),
        Some(task) if args.pilot && before.registered => Err(Failure::Refused {
            refusal: Refusal::SplitClosed { task },
            text: before.text.clone(),
        }),
        Some(_) if !args.pilot && !args.register && !before.registered => usage(
            "pilot-or-register",
            "this protocol has pilot tasks: say --pilot to execute them, or --register to end pilots and register",
        ),
        _ => Ok(()),
    }
}

fn execute(
    store: &mut Store,
    loaded: &ProtocolFile,
    args: &Run,
    record: &Path,
    bar: &Arc<Bar>,
) -> Result<End, Failure> {
    let rules = rules_of(store)?;
    let env = environment();
    let runs = runs_folder(store, record)?;
    let deaf = |error: std::io::Error| Failure::Fault {
        code: "signals",
        message: error.to_string(),
    };
    let brake = Brake::new().map_err(deaf)?;
    let attempts = &loaded.checked.registration.protocol.attempts;
    let rerun = attempts.rerun.contains(&CauseWord::Cancelled);
    let slots = if rerun {
        "may be attempted again"
    } else {
        "end without an outcome, since `rerun` does not name cancelled"
    };
    let listening = {
        let (brake, bar) = (brake.clone(), Arc::clone(bar));
        signals::listen(move |wish| match wish {
            Wish::Drain => {
                bar.say(&format!(
                    "ending      nothing more starts, and live runs are let to end
            Ctrl-C again ends them as cancelled: their slots {slots}"
                ));
                brake.drain();
                offer_to_leave(&brake, &bar);
            }
            Wish::End => {
                bar.say(&format!(
                    "ending      live runs are ended as cancelled: their slots {slots}"
                ));
                brake.end();
            }
            Wish::Leave => {
                bar.say("leaving     live runs go on without this session; the next `prereg run` takes them up");
                brake.leave();
            }
        })
    };
    let listening = listening.map_err(deaf)?;
    let session = Session {
        base: &loaded.base,
        runs: &runs,
        env: &env,
        pilot: args.pilot,
        retry_failed: args.retry_failed,
        actor: &args.actor,
    };
    let mut waits = 0;
    let end = loop {
        let runs = store.standing()?.runs;
        let end = match session::run(store, &rules, &session, &brake, bar.as_ref()) {
            Ok(End::Refused(refusal)) if args.wait && refusal.is_hold() => refusal,
            end => break end,
        };
        waits = if store.standing()?.runs == runs {
            waits
        } else {
            0
        };
        let (now, retry_at) = (clock::now(), retry_at(&rules, &end, waits));
        if !args.quiet {
            bar.say(&format!(
                "held        {}: {end}\n            goes on at {retry_at}",
                end.code()
            ));
        }
        let time = Duration::from_micros(retry_at.0.abs_diff(now.0));
        if brake.sleep(time) {
            break Ok(End::Interrupted);
        }
        waits += 1;
    };
    drop(listening);
    bar.clear();
    Ok(end?)
}

/// Asks whoever sits at a terminal whether live runs are to go on without the session.
fn offer_to_leave(brake: &Brake, bar: &Arc<Bar>) {
    if !std::io::stdin().is_terminal() {
        return;
    }
    bar.say(
        "            k and Enter leaves them: they go on, and the next `prereg run` takes them up",
    );
    let (brake, bar) = (brake.clone(), Arc::clone(bar));
    let ask = move || {
        // What is no answer may be followed by one.
        if std::io::stdin()
            .lines()
            .map_while(Result::ok)
            .any(|line| line.trim() == "k")
        {
            bar.say("leaving     live runs go on without this session");
            brake.leave();
        }
    };
    // It waits for an answer for as long as the session does; without it there is Ctrl-C.
    let _ = std::thread::Builder::new()
        .name("answer".to_owned())
        .spawn(ask);
}

/// Returns when it makes sense to ask again after a hold; `waits` counts those in a row before it.
fn retry_at(rules: &Rules, hold: &Refusal, waits: u32) -> Time {
    let backoff = rules.protocol().backoff.as_ref();
    let now = clock::now();
    let wait = backoff::wait(
        backoff.unwrap_or(&backoff::DEFAULT),
        waits,
        hold.until(),
        now,
    );
    now.plus(wait)
}

fn rules_of(store: &mut Store) -> Result<Arc<Rules>, Failure> {
    store.rules()?.ok_or_else(no_protocol)
}

pub(super) fn no_protocol() -> Failure {
    Failure::Fault {
        code: "record",
        message: "no protocol stands on the record".to_owned(),
    }
}

/// Returns where the runs of this very record have their folders.
pub(super) fn runs_folder(store: &Store, record: &Path) -> Result<PathBuf, Failure> {
    Ok(runs_beside(record, store.first_digest()?))
}

/// Returns where the runs of a record have their folders, by the digest of its first entry.
pub(super) fn runs_beside(record: &Path, first: Option<Digest>) -> PathBuf {
    let first = first.map_or_else(String::new, |digest| digest.to_string());
    let name = name_of(record);
    let folder = format!("{}.runs", name.strip_suffix(".db").unwrap_or(&name));
    folder_of(record)
        .join(folder)
        .join(&first[..first.len().min(12)])
}

/// Counts what a record says.
pub(super) fn count(store: &mut Store) -> Result<Tally, Failure> {
    store.tally()?.ok_or_else(no_protocol)
}

fn finished(
    store: &mut Store,
    record: &Path,
    after: &str,
    with_table: bool,
) -> Result<Reply, Failure> {
    let tally = count(store)?;
    let head = store.head()?;
    let line = results::slots_line(&tally);
    let (scored, rest) = line.split_once(';').unwrap_or((&line, ""));
    let answer = match with_table {
        true => answer_lines(store)?,
        false => String::new(),
    };
    let text = if with_table {
        format!(
            "complete    {scored}{after};{rest}\n{}\n{}{answer}  {:<10}  {} {}   {}\n\nprereg verify {}      derive every decision again\n",
            results::failed_controls(&tally.controls).unwrap_or_default(),
            results::table(&tally),
            "head",
            head.seq,
            head.digest.short(),
            record.display(),
            record.display(),
        )
    } else {
        format!("complete    {scored}{after}\n")
    };
    let json = json!({ "state": "complete", "tally": tally, "head": head, "record": record.display().to_string() });
    Ok(Reply::done(text, json))
}

/// Says the registered answer; nothing where no analysis is registered.
fn answer_lines(store: &mut Store) -> Result<String, Failure> {
    let rules = rules_of(store)?;
    if rules.protocol().analysis.is_none() {
        return Ok(String::new());
    }
    let (_, answer) = registered_answer(store)?;
    Ok(format!("\n{}\n", answer::paragraph(&answer)))
}

/// Says that nothing is left to start until tasks are appended to the draw; outcomes stay sealed.
fn drawn_out(store: &mut Store, loaded: &ProtocolFile, again: &str) -> Result<Reply, Failure> {
    let standing = store.standing()?;
    let protocol = &loaded.checked.registration.protocol;
    let size = protocol.draw.size;
    let ended = match (standing.drawn, size) {
        (0, _) => "no task is drawn yet".to_owned(),
        (drawn, None) => format!("{} drawn", results::counted(drawn, "task", "tasks")),
        (drawn, Some(size)) => format!("{drawn} of {size} tasks drawn"),
    };
    let add = match protocol.open_fields {
        Some(_) => "prereg task add FILE; ",
        None => "",
    };
    let sealed = match protocol.sealed() {
        true => "            outcomes stay sealed until the study has ended\n",
        false => "",
    };
    let text = format!(
        "drawn-out   {} of {} slots have ended; {ended}\n            append to the draw with: {add}prereg draw append TASK; then go on with: {again}\n{sealed}",
        standing.slots_ended, standing.slots,
    );
    Ok(Reply::done(
        text,
        json!({
            "state": "drawn-out",
            "slots": standing.slots,
            "drawn": standing.drawn,
            "size": size,
            "head": store.head()?,
        }),
    ))
}

fn pilot_done(store: &mut Store) -> Result<Reply, Failure> {
    let standing = store.standing()?;
    let text = format!(
        "piloted     {} pilot runs are on the record, in no analysis; prereg show RUN shows one\n",
        standing.pilots
    );
    Ok(Reply::done(
        text,
        json!({ "state": "piloted", "pilots": standing.pilots, "head": store.head()? }),
    ))
}

/// Says that a registered rule has ended the study, and what its slots say.
fn over(store: &mut Store, record: &Path, code: &str, why: &str) -> Result<Reply, Failure> {
    let (tally, head) = (count(store)?, store.head()?);
    let text = format!(
        "stopped     {code}: {why}; {}\n{}\n{}{}  {:<10}  {} {}   {}\n",
        results::slots_line(&tally),
        results::failed_controls(&tally.controls).unwrap_or_default(),
        results::table(&tally),
        answer_lines(store)?,
        "head",
        head.seq,
        head.digest.short(),
        record.display(),
    );
    let json = json!({ "state": "stopped", "code": code, "tally": tally, "head": head, "record": record.display().to_string() });
    Ok(Reply::done(text, json))
}

/// Says which registered stop lets nothing start. The study has not ended: its outcomes stay sealed.
fn stopped(store: &mut Store, loaded: &ProtocolFile, refusal: &Refusal) -> Result<Reply, Failure> {
    let standing = store.standing()?;
    let text = format!(
        "stopped     {}: {refusal}\n{}            {} of {} slots have ended; nothing starts while it stands\n",
        refusal.code(),
        registered(refusal.rule().as_deref(), Some(&loaded.text)),
        standing.slots_ended,
        standing.slots,
    );
    let json = json!({ "state": "stopped", "code": refusal.code(), "facts": refusal, "head": store.head()? });
    Ok(Reply::done(text, json))
}

/// Says which registered rule lets nothing start.
fn held(
    store: &mut Store,
    loaded: &ProtocolFile,
    refusal: &Refusal,
    again: &str,
) -> Result<Reply, Failure> {
    let standing = store.standing()?;
    let retry_at = refusal
        .is_hold()
        .then(|| rules_of(store).map(|rules| retry_at(&rules, refusal, 0)))
        .transpose()?;
    let text = format!(
        "held        {}: {refusal}\n{}            {} of {} slots have ended; then go on with: {again}\n",
        refusal.code(),
        registered(refusal.rule().as_deref(), Some(&loaded.text)),
        standing.slots_ended,
        standing.slots
    );
    Ok(Reply {
        aside: String::new(),
        text,
        json: json!({ "state": "held", "code": refusal.code(), "facts": refusal, "retry_at": retry_at, "head": store.head()? }),
        exit: Exit::Refusal,
    })
}

fn waiting(store: &mut Store) -> Result<Reply, Failure> {
    let standing = store.standing()?;
    let listed = |runs: Vec<String>, what: &str| {
        if runs.is_empty() {
            String::new()
        } else {
            format!("            {what}: {}\n", runs.join(", "))
        }
    };
    let live = listed(
        standing.live.keys().map(ToString::to_string).collect(),
        "live runs, executed elsewhere",
    );
    let ended = listed(
        standing.ended.iter().map(ToString::to_string).collect(),
        "ended runs that wait for `prereg score`",
    );
    let text = format!(
        "waiting     {} of {} slots have ended\n{live}{ended}",
        standing.slots_ended, standing.slots
    );
    Ok(Reply {
        aside: String::new(),
        text,
        json: json!({ "state": "waiting", "live": standing.live, "ended": standing.ended, "head": store.head()? }),
        exit: Exit::Refusal,
    })
}

/// Returns the command that goes on with the same study in the same record.
fn go_on(args: &Run) -> String {
    let file = args.file.display();
    match &args.db {
        Some(record) => format!("prereg run {file} --db {}", record.display()),
        None => format!("prereg run {file}"),
    }
}

fn interrupted(store: &mut Store, again: &str) -> Result<Reply, Failure> {
    let standing = store.standing()?;
    let text = format!(
        "interrupted {} of {} slots have ended; go on with: {again}\n",
        standing.slots_ended, standing.slots
    );
    Ok(Reply {
        aside: String::new(),
        text,
        json: json!({ "state": "interrupted", "head": store.head()? }),
        exit: Exit::Interrupted,
    })
}
