//! What becomes of attempts whose session was killed: found out by the recovery that the product runs,
//! from the files by which a supervisor is found and heard, in a record of its own.
//!
//! Where the durable attempts keep several accounts of an end (evidence, a closed receipt, the answer of
//! a controller, a late receipt), a supervisor leaves one: it stands in the place of the first that there
//! is. How a faulty one is called is foreign.

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;
use std::process::{Child, Command};
use std::sync::{LazyLock, Mutex};

use prereg::engine::command::{Action, Cause, Executed};
use prereg::engine::event::Event;
use prereg::engine::slice::State;
use prereg::protocol::check::Checked;
use prereg::runner::executor::Executor;
use prereg::runner::process::{Interrupt, ProcessIdentity};
use prereg::runner::recovery;
use prereg::runner::supervisor::{Seen, Tiers, Traces};
use prereg::store::{Request, Store};
use prereg::units::{RunId, Time};
use serde_json::{Value, json};

use super::attempts::{CELL, TASK, score};
use super::causes::{cause, state};
use super::shipped::{name_arms, table, with};

/// A record with a slot for every case.
struct Desk {
    store: Store,
    runs: PathBuf,
    cases: i64,
    _folder: tempfile::TempDir,
}

/// How many cases a record has slots for.
const CASES_MAX: i64 = 1000;

static DESK: Mutex<Option<Desk>> = Mutex::new(None);

impl Desk {
    fn new() -> Self {
        static CHECKED: LazyLock<Checked> = LazyLock::new(|| {
            with("matrix-attempts.toml", &[TASK], |protocol| {
                name_arms(protocol, &[CELL]);
                table(protocol, "allocation").insert("repeats".to_owned(), CASES_MAX.into());
            })
        });
        let folder = tempfile::tempdir().unwrap();
        let runs = folder.path().join("runs");
        fs::create_dir(&runs).unwrap();
        let mut store = Store::create(&folder.path().join("desk.db"), || Time(0)).unwrap();
        // What is written need not outlive the test.
        let _ = store.begin_session(usize::MAX).unwrap();
        let mut desk = Self {
            store,
            runs,
            cases: 0,
            _folder: folder,
        };
        let open = Action::Open {
            text: String::new(),
            registration: Box::new(CHECKED.registration.clone()),
            tasks: CHECKED
                .tasks
                .iter()
                .map(|task| task.fields.clone())
                .collect(),
        };
        desk.give(open);
        let registration = desk.store.rules().unwrap().unwrap().digest();
        let (arm, status) = (CELL.to_owned(), "ready".to_owned());
        desk.give(Action::Register { registration });
        desk.give(Action::Preflight { arm, status });
        desk
    }

    fn give(&mut self, action: Action) -> Vec<Event> {
        let request = Request {
            actor: "user".to_owned(),
            key: None,
            expects: None,
            action,
        };
        let response = self.store.write(|writer| writer.apply(request)).unwrap();
        response.ruling.unwrap()
    }

    /// Starts an attempt, of which nothing is there yet but its entry.
    fn start(&mut self) -> RunId {
        // A breaker that opened with the attempt before says nothing of this one.
        self.give(Action::Breaker { open: false });
        let started = self.give(Action::Start {
            task: TASK.to_owned(),
            arm: CELL.to_owned(),
            executed: Executed::Here,
        });
        let run = started.iter().find_map(|event| match event {
            Event::Started { run, .. } => Some(*run),
            _ => None,
        });
        run.unwrap()
    }

    fn file(&self, run: RunId, what: &str) -> PathBuf {
        self.runs.join(format!("{run}.{what}"))
    }

    /// Notes who supervises an attempt.
    fn note(&self, run: RunId, identity: &ProcessIdentity) {
        fs::write(
            self.file(run, "supervisor"),
            serde_json::to_vec(identity).unwrap(),
        )
        .unwrap();
    }

    /// Lays what a supervisor leaves.
    fn lay(&self, run: RunId, receipt: &str) {
        fs::write(self.file(run, "receipt"), receipt).unwrap();
    }

    /// Has a session find out what became of an attempt; says what is recorded of it, if it is closed.
    fn reconcile(&mut self, run: RunId) -> Option<Option<Cause>> {
        let rules = self.store.rules().unwrap().unwrap();
        let never = Interrupt::new().unwrap();
        let executor = Executor {
            rules: &rules,
            base: &self.runs,
            runs: &self.runs,
            env: &BTreeMap::new(),
            interrupt: &never,
            leave: &never,
            tiers: &Tiers::untried(),
            hidden: &[],
        };
        // What could not be found out is told as a fault, and leaves the attempt as it was.
        let _ = recovery::reconcile(&mut self.store, &executor, "user");
        let found = self.store.run(run).unwrap().unwrap();
        match found.state {
            State::Unjudged => Some(found.cause),
            State::Ended => {
                // Success is what the judge says of what was left.
                self.give(score(run));
                Some(None)
            }
            _ => None,
        }
    }

    /// Lets the next attempt begin on a clear desk.
    fn clear(&mut self, run: RunId) {
        for what in ["supervisor", "receipt", "cancel"] {
            let _ = fs::remove_file(self.file(run, what));
        }
        let _ = fs::remove_dir_all(self.runs.join(run.to_string()));
        if !self.store.run(run).unwrap().unwrap().is_closed() {
            let (cause, note) = (Cause::Lost, None);
            self.give(Action::Close { run, cause, note });
        }
    }
}

/// A process that stands for a supervisor: it does nothing but end when it is asked to.
fn supervisor() -> (Child, ProcessIdentity) {
    let child = Command::new("sleep").arg("60").spawn().unwrap();
    let identity = ProcessIdentity::of_pid(i32::try_from(child.id()).unwrap()).unwrap();
    (child, identity)
}

/// Returns who was there, and is not any more.
fn gone() -> ProcessIdentity {
    static GONE: LazyLock<ProcessIdentity> = LazyLock::new(|| {
        let (mut child, identity) = supervisor();
        child.kill().unwrap();
        child.wait().unwrap();
        identity
    });
    GONE.clone()
}

/// Writes the receipt of a supervisor whose command ended for a reason.
fn receipt(reason: &str, remains: bool) -> String {
    let ended = |timed_out: bool, interrupted: bool| {
        let stream = json!({ "bytes": 0, "kept": 0, "tail": 0, "digest": "00".repeat(32) });
        let mut told = json!({
            "exit": 0, "signal": null, "timed_out": timed_out, "interrupted": interrupted,
            "over_limit": false, "was_short_of_memory": false, "wall_us": 1, "usage": {},
            "leaked": false, "stdout": stream, "stderr": stream, "capture_fault": null,
        });
        if remains {
            told["remains"] = json!("something did not end");
        }
        json!({ "ended": told })
    };
    let fault = |code: &str| json!({ "fault": { "code": code, "message": reason, "reason": reason, "is_shortage": false } });
    let became = match cause(reason) {
        _ if remains => ended(false, false),
        None => ended(false, false),
        Some(Cause::TimedOut) => ended(true, false),
        Some(Cause::Cancelled) => ended(false, true),
        Some(Cause::Lost) => fault("supervision-lost"),
        Some(_) => fault("spawn-refused"),
    };
    json!({ "tier": "pgroup", "before": { "digest": null, "at": null }, "became": became })
        .to_string()
}

/// What is no receipt.
const INVALID: &str = "{";

pub(super) fn reconcile_attempt(case: &Value) -> Value {
    let mut kept = DESK.lock().unwrap();
    let known = kept.take().filter(|desk| desk.cases < CASES_MAX);
    let mut desk = known.unwrap_or_else(Desk::new);
    desk.cases += 1;
    let run = desk.start();
    let answer = answer(&mut desk, run, case);
    desk.clear(run);
    *kept = Some(desk);
    answer
}

fn text<'c>(case: &'c Value, name: &str) -> &'c str {
    case[name].as_str().unwrap()
}

fn answer(desk: &mut Desk, run: RunId, case: &Value) -> Value {
    if !matches!(text(case, "record"), "absent" | "running") {
        return terminal(desk, run, text(case, "record"));
    }
    let is_recorded = text(case, "record") == "running" && case["locator"] == true;
    // Why the attempt ended, and how it is called where nobody can tell.
    let (reason, fault) = match is_recorded {
        true => lay(desk, run, case),
        false => ("interrupted", "unverified"),
    };
    match desk.reconcile(run) {
        None => json!({ "error": fault }),
        Some(cause) => json!({ "state": state(cause), "reason": reason }),
    }
}

/// Closes an attempt, and has a session look at it: it stays as it is.
fn terminal(desk: &mut Desk, run: RunId, name: &str) -> Value {
    let why = match name {
        "interrupted" => Some(Cause::Lost),
        name => cause(name),
    };
    desk.note(run, &gone());
    desk.lay(
        run,
        &receipt(
            if name == "interrupted" {
                "controller_lost"
            } else {
                name
            },
            false,
        ),
    );
    desk.reconcile(run);
    let before = desk.store.run(run).unwrap();
    desk.lay(run, &receipt("timed_out", false));
    assert!(desk.reconcile(run).is_none_or(|found| found == why));
    assert_eq!(before, desk.store.run(run).unwrap());
    json!({ "state": state(before.unwrap().cause), "reason": null })
}

/// Lays what there is of a recorded attempt; returns why it ended, as it is told, and how a fault is called.
fn lay<'c>(desk: &Desk, run: RunId, case: &'c Value) -> (&'c str, &'static str) {
    if case["digest_ok"] != true {
        // A name that proves nothing.
        let mut nobody = gone();
        nobody.start_ticks = None;
        desk.note(run, &nobody);
        return ("", "bad_digest");
    }
    let accounts = [
        (text(case, "evidence"), "bad_evidence"),
        (text(case, "closed_receipt"), "bad_receipt"),
    ];
    if let Some((account, fault)) = accounts.into_iter().find(|(account, _)| *account != "none") {
        desk.note(run, &gone());
        desk.lay(run, &account_of(account, false));
        return (account, fault);
    }
    let asked = &case["recovery"];
    if asked == "reply_lost" {
        // Nobody says whether it is there; a late receipt is a receipt.
        let mut silent = gone();
        silent.start_ticks = None;
        desk.note(run, &silent);
        let late = text(case, "late_receipt");
        if late != "none" {
            desk.lay(run, &account_of(late, false));
        }
        return (late, "unverified");
    }
    let (mut child, identity) = supervisor();
    desk.note(run, &identity);
    let seen = Traces::of(&desk.runs, &run.to_string()).end().unwrap();
    let Seen::Alive(given) = seen else {
        panic!("{seen:?}");
    };
    given.await_end().unwrap();
    child.wait().unwrap();
    let reason = text(asked, "reason");
    let remains = asked["cleanup_complete"] != true || asked["group_alive"] == true;
    let account = if asked["receipt_valid"] == true {
        reason
    } else {
        "invalid"
    };
    desk.lay(run, &account_of(account, remains));
    (reason, "cleanup_unverified")
}

fn account_of(account: &str, remains: bool) -> String {
    match account {
        "invalid" => INVALID.to_owned(),
        reason => receipt(reason, remains),
    }
}
