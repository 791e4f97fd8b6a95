//! `run`: registers if need be, then executes until nothing is left to start.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde_json::json;

use super::args::Run;
use super::exit::Exit;
use super::progress::Bar;
use super::protocol::{plan_line, register_in, registered_lines};
use super::results;
use super::said::{Failure, Said};
use super::study::{Loaded, apply, folder_of};
use crate::engine::refusal::Refusal;
use crate::protocol::frame;
use crate::protocol::model::SplitKind;
use crate::report::tally::{Counter, Tally};
use crate::runner::clock;
use crate::runner::session::{self, Brake, End, Task};
use crate::runner::signals::{self, Wish};
use crate::store::{Request, Store};

/// Runs a study as far as it goes.
pub(super) fn run(args: &Run) -> Result<Said, Failure> {
    let loaded = Loaded::read(&args.file)?;
    loaded.enforced()?;
    let record = loaded.record(args.db.as_deref());
    let mut store = Store::create(&record, clock::now)?;
    let bar = Arc::new(Bar::new(args.quiet));
    let announced = admit(&mut store, &loaded, args, &bar)?;
    let standing = store.standing()?;
    if !args.pilot && standing.completed.is_some() {
        let runs = runs_folder(&store, &record)?;
        session::tidy(&mut store, &runs)?;
        return finished(&mut store, &record, "; nothing to do", false);
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
    bar.clear();
    match end {
        End::Complete if args.pilot => pilot_done(&mut store),
        End::Complete => finished(&mut store, &record, &format!(" in {}", bar.elapsed()), true),
        End::Waiting => waiting(&mut store),
        End::Interrupted => interrupted(&mut store, &loaded),
    }
}

/// Puts the protocol on the record, registered or for a pilot; returns whether that was told.
fn admit(store: &mut Store, loaded: &Loaded, args: &Run, bar: &Bar) -> Result<bool, Failure> {
    if args.pilot {
        apply(
            store,
            Request {
                actor: args.actor.clone(),
                key: None,
                action: loaded.open(),
            },
        )?;
        return pilots_open(store, loaded).map(|()| true);
    }
    let splits = loaded.checked.registration.protocol.splits.as_ref();
    let has_pilot =
        splits.is_some_and(|splits| splits.values().any(|kind| *kind == SplitKind::Pilot));
    if has_pilot && !args.register && store.standing()?.registered.is_none() {
        return Err(Failure::Usage {
            code: "pilot-or-register",
            message: "this protocol declares a pilot split: say --pilot to execute it, or --register to end pilots and register".to_owned(),
        });
    }
    let new = register_in(store, loaded, &args.actor)?;
    if new && !args.quiet {
        bar.say(registered_lines(loaded).trim_end());
    }
    Ok(new)
}

/// Refuses pilots of a study that is registered.
fn pilots_open(store: &mut Store, loaded: &Loaded) -> Result<(), Failure> {
    let tasks = &loaded.checked.tasks;
    let pilots = frame::draw(&loaded.checked.registration.protocol, tasks).pilot;
    let first = pilots.first().map(|task| tasks[*task].id.clone());
    match (store.standing()?.registered, first) {
        (_, None) => Err(Failure::Usage {
            code: "no-pilot",
            message: "no task of this protocol is in a pilot split".to_owned(),
        }),
        (Some(_), Some(task)) => Err(Failure::Refused {
            refusal: Refusal::SplitClosed { task },
            text: store.protocol_text()?,
        }),
        (None, Some(_)) => Ok(()),
    }
}

fn execute(
    store: &mut Store,
    loaded: &Loaded,
    args: &Run,
    record: &Path,
    bar: &Arc<Bar>,
) -> Result<End, Failure> {
    let broken = |message: &str| Failure::Fault {
        code: "record",
        message: message.to_owned(),
    };
    let rules = store
        .rules()?
        .ok_or_else(|| broken("no protocol stands on the record"))?;
    let env: BTreeMap<OsString, OsString> = std::env::vars_os().collect();
    let runs = runs_folder(store, record)?;
    let brake = Brake::new().map_err(|error| Failure::Fault {
        code: "signals",
        message: error.to_string(),
    })?;
    let listening = {
        let (brake, bar) = (brake.clone(), Arc::clone(bar));
        signals::listen(move |wish| match wish {
            Wish::Drain => {
                bar.say("ending      nothing more starts; live runs are let to end. Ctrl-C again ends them, and they count as cancelled");
                brake.drain();
            }
            Wish::End => {
                bar.say("ending      live runs are ended, and count as cancelled");
                brake.end();
            }
        })
    };
    let listening = listening.map_err(|error| Failure::Fault {
        code: "signals",
        message: error.to_string(),
    })?;
    let task = Task {
        base: &loaded.base,
        runs: &runs,
        env: &env,
        pilot: args.pilot,
        actor: &args.actor,
    };
    let end = session::run(store, &rules, &task, &brake, bar.as_ref());
    drop(listening);
    bar.clear();
    Ok(end?)
}

/// Returns where the runs of this very record have their folders.
fn runs_folder(store: &Store, record: &Path) -> Result<PathBuf, Failure> {
    let first = store
        .first_digest()?
        .map_or_else(String::new, |digest| digest.to_string());
    let name = record
        .file_name()
        .map_or_else(String::new, |name| name.to_string_lossy().into_owned());
    let folder = format!("{}.runs", name.strip_suffix(".db").unwrap_or(&name));
    Ok(folder_of(record)
        .join(folder)
        .join(&first[..first.len().min(12)]))
}

/// Counts what a record says.
pub(super) fn count(store: &mut Store) -> Result<Tally, Failure> {
    let missing = || Failure::Fault {
        code: "record",
        message: "no protocol stands on the record".to_owned(),
    };
    let rules = store.rules()?.ok_or_else(missing)?;
    let mut counter = Counter::new(&rules);
    store.each_run(|run| counter.add(run))?;
    Ok(counter.finish())
}

fn finished(
    store: &mut Store,
    record: &Path,
    after: &str,
    with_table: bool,
) -> Result<Said, Failure> {
    let tally = count(store)?;
    let head = store.head()?;
    let line = results::slots_line(&tally);
    let (scored, rest) = line.split_once(';').unwrap_or((&line, ""));
    let text = if with_table {
        format!(
            "complete    {scored}{after};{rest}\n\n{}  {:<10}  {} {}   {}\n\nprereg verify {}      derive every decision again\n",
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
    Ok(Said::done(text, json))
}

fn pilot_done(store: &mut Store) -> Result<Said, Failure> {
    let standing = store.standing()?;
    let text = format!(
        "piloted     {} pilot runs are on the record, in no analysis; prereg show RUN shows one\n",
        standing.pilots
    );
    Ok(Said::done(
        text,
        json!({ "state": "piloted", "pilots": standing.pilots, "head": store.head()? }),
    ))
}

fn waiting(store: &mut Store) -> Result<Said, Failure> {
    let standing = store.standing()?;
    let text = format!(
        "waiting     {} of {} slots have ended; the next may start once the runs executed elsewhere have ended: {}\n",
        standing.slots_ended,
        standing.slots,
        standing
            .live
            .keys()
            .map(ToString::to_string)
            .collect::<Vec<_>>()
            .join(", "),
    );
    Ok(Said {
        text,
        json: json!({ "state": "waiting", "head": store.head()? }),
        exit: Exit::Refusal,
    })
}

fn interrupted(store: &mut Store, loaded: &Loaded) -> Result<Said, Failure> {
    let standing = store.standing()?;
    let text = format!(
        "interrupted {} of {} slots have ended; go on with: prereg run {}\n",
        standing.slots_ended,
        standing.slots,
        loaded.file.display()
    );
    Ok(Said {
        text,
        json: json!({ "state": "interrupted", "head": store.head()? }),
        exit: Exit::Interrupted,
    })
}
