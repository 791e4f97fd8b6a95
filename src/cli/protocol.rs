//! Verbs about a protocol file: `init`, `check`, `schema`, `register`.

use std::fs::OpenOptions;
use std::io::Write;

use serde_json::{Value, json};

use super::args::{Check, Init, Register};
use super::looks;
use super::reply::{Failure, Reply};
use super::results::counted;
use super::study::{Before, ProtocolFile, granted};
use crate::engine::command::Action;
use crate::engine::modelcheck::Model;
use crate::protocol::model::ArmsOrder;
use crate::protocol::plan::Plan;
use crate::protocol::shape;
use crate::runner::clock;
use crate::store::{Request, Store};

/// The protocol that `init` writes.
const TEMPLATE: &str = include_str!("init.toml");

/// Writes a commented protocol, and never over a file that exists.
pub(super) fn init(args: &Init) -> Result<Reply, Failure> {
    let mut file = OpenOptions::new()
        .write(true)
        .create_new(true)
        .open(&args.file)
        .map_err(|error| match error.kind() {
            std::io::ErrorKind::AlreadyExists => Failure::exists(&args.file),
            _ => Failure::file(&args.file, &error),
        })?;
    file.write_all(TEMPLATE.as_bytes())
        .map_err(|error| Failure::file(&args.file, &error))?;
    let name = args.file.display();
    let text =
        format!("written     {name}: fill in the task file it names, then: prereg check {name}\n");
    Ok(Reply::done(text, json!({ "written": name.to_string() })))
}

/// Says what a sound protocol comes to.
pub(super) fn check(args: &Check) -> Result<Reply, Failure> {
    let loaded = ProtocolFile::read(&args.file)?;
    let model = loaded.play()?;
    let plan = plan_line(&loaded);
    let unenforced = loaded.unenforced();
    let mut text = format!("sound       {}   {plan}\n", loaded.id());
    if !unenforced.is_empty() {
        text.push_str(&format!(
            "            this version cannot enforce, and so will not register: {}\n",
            unenforced.join(", ")
        ));
    }
    let json = json!({
        "study": loaded.id(),
        "registration": loaded.checked.registration.digest(),
        "plan": plan,
        "defects": [],
        "unenforced": unenforced,
        "model": model_json(&model),
    });
    Ok(Reply::done(text, json))
}

/// Returns what was played, and each weakness with its history; one that is not found is not found up
/// to that depth, where the search was cut.
fn model_json(model: &Model) -> Value {
    let findings = model.findings.iter().map(|(weakness, history)| {
        json!({
            "code": weakness.code(),
            "history": history.lines(),
            "operations": history.operations,
        })
    });
    json!({
        "states": model.states,
        "depth": model.depth,
        "complete": model.complete,
        "findings": findings.collect::<Vec<_>>(),
    })
}

/// Prints the JSON Schema.
pub(super) fn schema() -> Reply {
    let schema = shape::schema();
    Reply::done(format!("{schema:#}\n"), schema)
}

/// Registers a protocol.
pub(super) fn register(args: &Register) -> Result<Reply, Failure> {
    let loaded = ProtocolFile::read(&args.file)?;
    loaded.enforced()?;
    let record = loaded.record(args.db.as_deref());
    let before = Before::of(&record)?;
    loaded.play_if_new(before.opened)?;
    let probes = looks::binding(&loaded, &before)?;
    let mut store = Store::create(&record, clock::now)?;
    let new = register_in(&mut store, &loaded, probes, &args.actor)?;
    let digest = loaded.checked.registration.digest();
    let mut text = registered_lines(&loaded);
    if !new {
        text.push_str("            it was registered before; nothing changed\n");
    }
    text.push_str(&format!("plan        {}\n", plan_line(&loaded)));
    let json = json!({
        "study": loaded.id(),
        "registration": digest,
        "publish": publish_line(&loaded),
        "new": new,
        "record": store.path().display().to_string(),
        "head": store.head()?,
    });
    Ok(Reply::done(text, json))
}

/// Opens and registers a protocol in one transaction, with what was observed of its probes; returns
/// whether that was news.
pub(super) fn register_in(
    store: &mut Store,
    loaded: &ProtocolFile,
    probes: Vec<Action>,
    actor: &str,
) -> Result<bool, Failure> {
    let registration = loaded.checked.registration.digest();
    let request = |action| Request {
        actor: actor.to_owned(),
        key: None,
        expects: None,
        action,
    };
    // In one transaction: nobody else's protocol comes between the two.
    let (before, response) = store.write(|writer| {
        let before = writer.standing().registered;
        let opened = writer.apply(request(loaded.open()))?;
        if opened.ruling.is_err() {
            return Ok((before, opened));
        }
        for probe in probes {
            writer.apply(request(probe))?;
        }
        let registered = writer.apply(request(Action::Register { registration }))?;
        Ok((before, registered))
    })?;
    granted(store, response)?;
    Ok(before.is_none())
}

/// Returns the lines that say that a protocol is registered, and what to publish.
pub(super) fn registered_lines(loaded: &ProtocolFile) -> String {
    let digest = loaded.checked.registration.digest();
    format!(
        "registered  {}   sha256:{}\n            publish this line: {}\n",
        loaded.id(),
        digest.short(),
        publish_line(loaded)
    )
}

/// Returns the line to publish.
pub(super) fn publish_line(loaded: &ProtocolFile) -> String {
    format!(
        "prereg/1 {} {}",
        loaded.id(),
        loaded.checked.registration.digest()
    )
}

/// Returns the plan in one line.
pub(super) fn plan_line(loaded: &ProtocolFile) -> String {
    let protocol = &loaded.checked.registration.protocol;
    let allocation = &protocol.allocation;
    let order = match allocation.arms {
        ArmsOrder::Alternating => "alternating",
        ArmsOrder::Counterbalanced => "counterbalanced",
        ArmsOrder::Williams => "Williams squares",
        ArmsOrder::Shuffled => "shuffled",
    };
    let controls = match protocol.controls.len() {
        0 => "no control".to_owned(),
        some => counted(some as u64, "control", "controls"),
    };
    let (drawn, arms) = (&loaded.checked.drawn.confirmatory, &protocol.arms);
    let repeats = counted(u64::from(allocation.repeats), "repeat", "repeats");
    let arms = counted(arms.len() as u64, "arm", "arms");
    let (tasks, slots) = match protocol.open_fields {
        Some(_) => ("an open frame".to_owned(), String::new()),
        None => {
            let plan = Plan::new(protocol, &loaded.checked.tasks, drawn);
            let tasks = counted(drawn.len() as u64, "task", "tasks");
            (
                tasks,
                format!(" = {}", counted(plan.len(), "slot", "slots")),
            )
        }
    };
    format!(
        "{tasks} × {repeats} × {arms}{slots}, {order}, {} at a time; {controls}",
        allocation.runs_max
    )
}
