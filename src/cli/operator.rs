//! Verbs for what the world and the operator report: `breaker`, `switch`, `task add`, `draw append`,
//! `reading add`, `checkpoint`, `cost`, `void`, `deviate`.

use std::path::PathBuf;

use serde_json::{Value, json};

use super::args::{
    AddReading, Append, Breaker, Checkpoint, Cost, Deviate, Hand, Lines, OnOff, Passed, Switch,
    Void,
};
use super::elsewhere::{open, request};
use super::input;
use super::reply::{Failure, Reply};
use super::results::counted;
use super::study::{apply, folder_of, granted};
use crate::engine::command::Action;
use crate::engine::event::Event;
use crate::protocol::canonical;
use crate::runner::switch;
use crate::runner::tree::TreeFault;
use crate::store::{Response, Store};
use crate::units::Money;

/// Opens or clears the breaker.
pub(super) fn breaker(args: &Breaker) -> Result<Reply, Failure> {
    let open_it = args.hand == Hand::Open;
    let mut store = open(&args.which)?;
    let asked = request(&args.writes, Action::Breaker { open: open_it });
    let response = apply(&mut store, asked)?;
    let changed = is_news(&response);
    let text = match (open_it, changed) {
        (true, true) => "opened      the breaker: nothing it guards starts until it is cleared\n",
        (false, true) => "cleared     the breaker: starts are let through again\n",
        (true, false) => "unchanged   the breaker was open before\n",
        (false, false) => "unchanged   the breaker was not open\n",
    };
    Ok(told(text, &response, json!({ "open": open_it })))
}

/// Turns the switch: records what it is to say, then writes its file where that says something else.
///
/// The first answer to a key, given again, touches nothing.
pub(super) fn turn(args: &Switch) -> Result<Reply, Failure> {
    let mut store = open(&args.which)?;
    let says = match args.to {
        OnOff::On => "on",
        OnOff::Off => "off",
    };
    let action = Action::Switch {
        text: Some(says.to_owned()),
    };
    let response = apply(&mut store, request(&args.writes, action))?;
    let wrote = !response.repeated && write_switch(&mut store, says)?;
    let text = match (is_news(&response), wrote) {
        (true, _) => format!("switched    {says}\n"),
        (false, true) => format!("switched    {says}: its file said something else\n"),
        (false, false) => format!("unchanged   the switch said {says} before\n"),
    };
    let mut said = told(text, &response, json!({ "says": says }));
    said.json["wrote"] = json!(wrote);
    Ok(said)
}

/// Lets the switch's file say a text; returns whether it did not before.
fn write_switch(store: &mut Store, says: &str) -> Result<bool, Failure> {
    let Some((base, file)) = switch_file(store)? else {
        return Ok(false);
    };
    if switch::read(&base, &file).as_deref() == Some(says) {
        return Ok(false);
    }
    let fault = |fault: TreeFault| Failure::Fault {
        code: "switch-file",
        message: format!(
            "the record says that the switch is {says}, but its file could not be written: {fault}; mend that, then say `prereg switch {says}` again, with no `--key` or a new one"
        ),
    };
    switch::write(&base, &file, says).map_err(fault)?;
    Ok(true)
}

/// Returns where the switch's file is: the protocol stands beside its record.
fn switch_file(store: &mut Store) -> Result<Option<(PathBuf, String)>, Failure> {
    let rules = store.rules()?;
    let file = rules.and_then(|rules| rules.protocol().switch.clone());
    Ok(file.map(|file| (folder_of(store.path()), file)))
}

/// Adds tasks to an open frame: all of them, or none.
pub(super) fn add_tasks(args: &Lines) -> Result<Reply, Failure> {
    let tasks = input::tasks(&args.file)?;
    let mut store = open(&args.which)?;
    let several = tasks.len() > 1;
    let requests = tasks.iter().enumerate().map(|(i, task)| {
        let task = task.fields.clone();
        let mut asked = request(&args.writes, Action::AddTask { task });
        if several {
            // A key names one operation.
            asked.key = asked.key.map(|key| format!("{key}/{}", i + 1));
        }
        // What comes before it in the list is no news to whoever writes it.
        asked.expects = asked.expects.filter(|_| i == 0);
        asked
    });
    let answers = store.write_all(requests.collect())?;
    let answers: Vec<Response> = answers
        .into_iter()
        .map(|answer| granted(&store, answer))
        .collect::<Result<_, _>>()?;
    let (known, all) = (
        answers.iter().filter(|answer| !is_news(answer)).count(),
        answers.len(),
    );
    let added = all - known;
    let text = format!("added       {added} of {all} tasks; {known} were known before\n");
    let entries: Vec<u64> = answers.iter().filter_map(|answer| answer.seq).collect();
    let json = json!({ "added": added, "known": known, "entries": entries });
    Ok(Reply::done(text, json))
}

/// Appends tasks to a draw that grows.
pub(super) fn append(args: &Append) -> Result<Reply, Failure> {
    let mut store = open(&args.which)?;
    let from = match args.from {
        Some(from) => from,
        None => store.standing()?.drawn + 1,
    };
    let action = Action::Draw {
        from,
        tasks: args.tasks.clone(),
    };
    let response = apply(&mut store, request(&args.writes, action))?;
    let drawn = store.standing()?.drawn;
    let text = if is_news(&response) {
        let tasks = counted(drawn, "task stands", "tasks stand");
        format!("drawn       {tasks} in the draw\n")
    } else {
        "unchanged   these tasks stood at these places before\n".to_owned()
    };
    Ok(told(text, &response, json!({ "drawn": drawn })))
}

/// Adds a reading of the world.
pub(super) fn add_reading(args: &AddReading) -> Result<Reply, Failure> {
    let fields = match canonical::read(args.fields.as_bytes()) {
        Ok(Value::Object(fields)) => fields,
        Ok(_) => return Err(bad_fields("it is not a JSON object")),
        Err(fault) => return Err(bad_fields(&fault.message)),
    };
    let mut store = open(&args.which)?;
    let action = Action::Read {
        id: args.id.clone(),
        fields,
    };
    let response = apply(&mut store, request(&args.writes, action))?;
    let read = store.standing()?.readings.get(&args.id).cloned();
    let text = format!("read        {}\n", args.id);
    Ok(told(
        text,
        &response,
        json!({ "id": args.id, "fields": read }),
    ))
}

fn bad_fields(why: &str) -> Failure {
    Failure::Usage {
        code: "bad-fields",
        message: format!("{why}; write the fields as one JSON object, such as '{{\"left\": 0.4}}'"),
    }
}

/// Records the check in the middle of a run.
pub(super) fn checkpoint(args: &Checkpoint) -> Result<Reply, Failure> {
    let passed = args.result == Passed::Passed;
    let mut store = open(&args.which)?;
    let action = Action::Checkpoint {
        run: args.run,
        passed,
        note: args.reason.clone(),
    };
    let response = apply(&mut store, request(&args.writes, action))?;
    let word = if passed { "passed" } else { "failed" };
    let text = format!("{word:<11} run {}\n", args.run);
    Ok(told(
        text,
        &response,
        json!({ "run": args.run, "passed": passed }),
    ))
}

/// Reports what a run cost.
pub(super) fn cost(args: &Cost) -> Result<Reply, Failure> {
    let run = args.run;
    let cost: Money = args
        .cost
        .join(" ")
        .parse()
        .map_err(|message| Failure::Usage {
            code: "bad-amount",
            message,
        })?;
    let mut store = open(&args.which)?;
    let response = apply(
        &mut store,
        request(&args.writes, Action::Cost { run, cost }),
    )?;
    let text = match is_news(&response) {
        true => format!("recorded    run {run} cost {cost}\n"),
        false => "unchanged   the record says so already\n".to_owned(),
    };
    Ok(told(text, &response, json!({ "run": run, "cost": cost })))
}

/// Voids a block by hand.
pub(super) fn void(args: &Void) -> Result<Reply, Failure> {
    let mut store = open(&args.which)?;
    let action = Action::Void {
        block: args.block,
        reason: args.reason.clone(),
    };
    let response = apply(&mut store, request(&args.writes, action))?;
    let requeued = response
        .ruling
        .iter()
        .flatten()
        .any(|event| matches!(event, Event::BlockVoided { requeued: true, .. }));
    let after = if requeued {
        "is executed again"
    } else {
        "has been voided as often as is registered: its values are missing"
    };
    let text = format!("voided      block {}: it {after}\n", args.block);
    Ok(told(
        text,
        &response,
        json!({ "block": args.block, "requeued": requeued }),
    ))
}

/// Records something that the protocol did not foresee.
pub(super) fn deviate(args: &Deviate) -> Result<Reply, Failure> {
    let mut store = open(&args.which)?;
    let action = Action::Deviate {
        note: args.note.clone(),
        arm: args.arm.clone(),
    };
    let response = apply(&mut store, request(&args.writes, action))?;
    Ok(told(
        "recorded    the deviation; the report prints it in full\n",
        &response,
        json!({}),
    ))
}

/// Says what was done, with the entry that records it.
pub(super) fn told(text: impl Into<String>, response: &Response, mut json: Value) -> Reply {
    json["changed"] = json!(is_news(response));
    json["entry"] = json!(response.seq);
    json["repeated"] = json!(response.repeated);
    Reply::done(text, json)
}

/// Returns whether a granted request changed anything.
pub(super) fn is_news(response: &Response) -> bool {
    response
        .ruling
        .as_ref()
        .is_ok_and(|events| !events.is_empty())
}
