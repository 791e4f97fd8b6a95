//! Any history is answered, and as the record would answer it.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a test that cannot go on fails where it stands"
)]

mod cases;

use std::cell::Cell;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use cases::cases;
use prereg::engine::command::{Action, Ending, Evidence, Executed};
use prereg::engine::refusal::Refusal;
use prereg::engine::rehearsal::op::{Op, Timed, Wanted};
use prereg::engine::rehearsal::{Answer, Rehearsal};
use prereg::engine::rules::Rules;
use prereg::folder::DiskFolder;
use prereg::protocol::check::{Checked, check};
use prereg::store::{Request, Store};
use prereg::units::{RunId, Time};
use proptest::prelude::*;
use serde_json::{Map, Value, json};

thread_local! {
    static NOW: Cell<Time> = const { Cell::new(Time(0)) };
}

/// A shipped protocol, and what was made of it.
struct Shipped {
    text: String,
    checked: Checked,
    rules: Rules,
}

impl Shipped {
    fn read(name: &str) -> Self {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("protocols");
        let text = std::fs::read_to_string(folder.join(name)).unwrap();
        let checked = check(text.as_bytes(), &DiskFolder::at(&folder)).unwrap();
        let rules = Rules::new(checked.registration.clone(), checked.tasks.clone()).unwrap();
        Self {
            text,
            checked,
            rules,
        }
    }
}

/// Those whose histories are tried, each read once.
static SHIPPED: LazyLock<BTreeMap<&str, Shipped>> = LazyLock::new(|| {
    let names = [
        "block-stages.toml",
        "matrix-attempts.toml",
        "minimal.toml",
        "paired-slots.toml",
    ];
    names.map(|name| (name, Shipped::read(name))).into()
});

/// Operations that say nothing of when, on tasks and arms that mostly exist.
fn any_op(tasks: Vec<String>, arms: Vec<String>) -> impl Strategy<Value = Value> {
    let task = prop::sample::select(tasks);
    let arm = prop::sample::select(arms);
    let run = 1_u64..10;
    let wanted =
        (task.clone(), arm.clone()).prop_map(|(task, arm)| json!({ "task": task, "arm": arm }));
    let causes = prop::sample::select(vec!["failed", "cancelled", "lost"]);
    let switch = prop::sample::select(vec![json!("on"), json!("on"), json!("off"), Value::Null]);
    prop_oneof![
        8 => wanted.clone().prop_map(|wanted| with("start", wanted)),
        1 => (wanted.clone(), wanted).prop_map(|(first, second)| {
            json!({ "op": "start_pair", "first": first, "second": second })
        }),
        3 => (run.clone(), any::<Option<bool>>(), any::<bool>()).prop_map(|(run, error, timed_out)| {
            json!({ "op": "finish", "run": run, "stopped_on_error": error, "timed_out": timed_out })
        }),
        6 => (run.clone(), any::<bool>()).prop_map(|(run, error)| {
            json!({ "op": "score", "run": run, "outcome": "scored", "stopped_on_error": error })
        }),
        2 => (run.clone(), causes).prop_map(|(run, cause)| {
            json!({ "op": "close", "run": run, "cause": cause })
        }),
        1 => run.clone().prop_map(|run| json!({ "op": "retry", "run": run })),
        1 => (run, any::<bool>()).prop_map(|(run, passed)| {
            json!({ "op": "checkpoint", "run": run, "passed": passed })
        }),
        1 => task.clone().prop_map(|task| json!({
            "op": "task_add", "task": task, "split": "full",
            "fail_to_pass_count": 1, "pass_to_pass_count": 1,
        })),
        1 => (1_u64..4, task).prop_map(|(from, task)| {
            json!({ "op": "draw_append", "from": from, "tasks": [task] })
        }),
        1 => switch.prop_map(|value| {
            json!({ "op": "switch", "readable": !value.is_null(), "value": value })
        }),
        1 => any::<bool>().prop_map(|open| json!({ "op": "breaker", "open": open })),
        1 => arm.prop_map(|arm| json!({ "op": "preflight", "arm": arm, "status": "ready" })),
        1 => Just(json!({ "op": "probe", "id": "agent", "value": "2.1.0" })),
        1 => (0_u64..9).prop_map(|block| json!({ "op": "void", "block": block, "reason": "r" })),
        1 => Just(json!({ "op": "deviate", "note": "n" })),
        1 => Just(json!({ "op": "session" })),
        1 => Just(json!({ "op": "clock" })),
    ]
}

fn with(op: &str, mut fields: Value) -> Value {
    fields["op"] = op.into();
    fields
}

/// A history: minutes pass, now and then the hours after which a run is stale.
fn any_history(tasks: &[&str], arms: &[&str], length: usize) -> impl Strategy<Value = Vec<Timed>> {
    let owned = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
    let op = any_op(owned(tasks), owned(arms));
    let pause = prop_oneof![20 => 0_i64..15, 1 => 300_i64..700];
    prop::collection::vec((pause, op), 1..length).prop_map(|steps| {
        let mut minute = 29_400_000;
        let timed = steps.into_iter().map(|(pause, mut op)| {
            minute += pause;
            op["at"] = Time(minute * 60_000_000).to_string().into();
            Timed::read(&op).unwrap()
        });
        timed.collect()
    })
}

/// The first operations of a study with an open frame, without which every start is refused.
fn opening(tasks: &[&str]) -> Vec<Timed> {
    let add = |task: &&str| {
        json!({
            "op": "task_add", "task": task, "split": "full",
            "fail_to_pass_count": 1, "pass_to_pass_count": 1,
        })
    };
    let mut ops = vec![json!({ "op": "switch", "value": "on" })];
    ops.extend(tasks.iter().map(add));
    ops.push(json!({ "op": "draw", "from": 1, "tasks": tasks }));
    let timed = ops.into_iter().map(|mut op| {
        op["at"] = "2025-11-01T00:00:00Z".into();
        Timed::read(&op).unwrap()
    });
    timed.collect()
}

fn refusal(answer: Answer) -> Option<Refusal> {
    match answer {
        Answer::One(said) => said.refusal,
        Answer::Pair(pair) => panic!("{pair:?}"),
    }
}

/// Counts the starts that an answer grants.
fn granted(answer: &Value) -> usize {
    let is_start = |answer: &Value| answer["run"].is_string();
    let both = [answer, &answer["first"], &answer["second"]];
    both.into_iter().filter(|answer| is_start(answer)).count()
}

/// Plays a history; every answer says yes or no, and every granted start is a run at the end.
fn answers(name: &str, history: &[Timed]) {
    let mut rehearsal = Rehearsal::new(&SHIPPED[name].rules);
    let mut starts = 0;
    for timed in history {
        let answer = rehearsal.play(timed).json(|_| Map::new());
        let parts = match timed.op {
            Op::StartPair(_) => vec![&answer["first"], &answer["second"]],
            _ => vec![&answer],
        };
        for part in parts {
            let refused = part["ok"] == false;
            assert!(part["ok"].is_boolean(), "{answer}");
            assert_eq!(refused, part["reason"].is_string(), "{answer}");
        }
        starts += granted(&answer);
    }
    let end = rehearsal.end();
    let runs = end["runs"].as_array().unwrap();
    let names: Vec<&str> = runs.iter().map(|run| run[0].as_str().unwrap()).collect();
    let wanted: Vec<String> = (1..=starts).map(|run| format!("r{run}")).collect();
    assert_eq!(names, wanted);
}

/// A record that is written by the same operations.
struct Recorded {
    path: PathBuf,
    store: Store,
    registration: prereg::units::Digest,
}

impl Recorded {
    fn ask(&mut self, action: Action) -> Option<Refusal> {
        let request = Request {
            actor: String::new(),
            key: None,
            expects: None,
            action,
        };
        let response = self.store.write(|writer| writer.apply(request)).unwrap();
        response.ruling.err()
    }

    fn ask_all(&mut self, actions: impl IntoIterator<Item = Action>) -> Option<Refusal> {
        actions.into_iter().find_map(|action| self.ask(action))
    }

    fn is_closed(&mut self, run: RunId) -> bool {
        self.store.run(run).unwrap().unwrap().is_closed()
    }

    fn play(&mut self, Timed { at, op }: &Timed) -> Option<Refusal> {
        NOW.set(*at);
        // As every verb of the command line does.
        self.store = Store::open(&self.path, || NOW.get()).unwrap();
        match op {
            Op::Clock => None,
            Op::Act(action) => self.ask((**action).clone()),
            Op::Draw { batch, .. } => {
                let registration = self.registration;
                let draw = batch
                    .clone()
                    .map(|(from, tasks)| Action::Draw { from, tasks });
                self.ask_all([Action::Register { registration }].into_iter().chain(draw))
            }
            Op::Start(Wanted { task, arm }) => self.ask(Action::Start {
                task: task.clone(),
                arm: arm.clone(),
                executed: Executed::Elsewhere(None),
            }),
            Op::StartPair(_) => panic!("it is asked for one thing at a time"),
            Op::Score {
                run,
                stopped_on_error,
                ..
            } => self.score(*run, *stopped_on_error),
        }
    }

    fn score(&mut self, run: RunId, error_stop: Option<bool>) -> Option<Refusal> {
        let ending = Ending {
            error_stop,
            ..Ending::default()
        };
        let finish = Action::Finish {
            run,
            ending,
            execution: None,
        };
        match self.ask(finish) {
            None if self.is_closed(run) => return None,
            None | Some(Refusal::AlreadyEnded { .. }) => {}
            refused => return refused,
        }
        self.ask(Action::Score {
            run,
            diff: None,
            evidence: Some(Evidence::default()),
        })
    }
}

/// Plays a history twice: rehearsed and recorded.
fn agrees(name: &str, history: &[Timed]) {
    NOW.set(Time(0));
    let Shipped {
        text,
        checked,
        rules,
    } = &SHIPPED[name];
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("study.prereg");
    let mut recorded = Recorded {
        store: Store::create(&path, || NOW.get()).unwrap(),
        path,
        registration: checked.registration.digest(),
    };
    let tasks = checked.tasks.iter().map(|task| task.fields.clone());
    let opened = recorded.ask(Action::Open {
        text: text.clone(),
        registration: Box::new(checked.registration.clone()),
        tasks: tasks.collect(),
    });
    assert_eq!(opened, None);
    let mut rehearsal = Rehearsal::new(rules);
    if rehearsal.end()["registered"] == true {
        let registration = recorded.registration;
        assert_eq!(recorded.ask(Action::Register { registration }), None);
    }
    // The record is asked for one thing at a time.
    let alone = |timed: &&Timed| !matches!(timed.op, Op::StartPair(_));
    for (number, timed) in history.iter().filter(alone).enumerate() {
        let (one, other) = (refusal(rehearsal.play(timed)), recorded.play(timed));
        assert_eq!(one, other, "operation {number}: {timed:?}");
    }
    let end = rehearsal.end();
    for (number, run) in (1..).zip(end["runs"].as_array().unwrap()) {
        let found = recorded.store.run(RunId(number)).unwrap().unwrap();
        let status = match found.state.text() {
            "live" | "ended" => "running",
            other => other,
        };
        assert_eq!(run[3], status, "{run}");
    }
}

const TASKS: &[&str] = &["a", "b", "c"];
const ARMS: &[&str] = &["baseline", "treatment", "planted_good", "nobody"];

proptest! {
    #![proptest_config(ProptestConfig { cases: cases(60), failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_history_of_the_paired_rules_is_answered(history in any_history(TASKS, ARMS, 60)) {
        let history = [opening(&TASKS[..2]), history].concat();
        answers("paired-slots.toml", &history);
    }

    #[test]
    fn any_history_of_other_rules_is_answered(
        blocks in any_history(&["CDB-7", "MB-2", "a"], &["without", "with", "solution"], 40),
        cells in any_history(&["fixture", "a"], &["cell-small", "cell-large", "nobody"], 40),
        minimal in any_history(&["lower", "upper"], &["exact", "fold"], 40),
    ) {
        answers("block-stages.toml", &blocks);
        answers("matrix-attempts.toml", &cells);
        answers("minimal.toml", &minimal);
    }
}

proptest! {
    // Every step of a record is durable before it is answered, which takes its time.
    #![proptest_config(ProptestConfig { cases: cases(12), failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn the_record_answers_as_the_rehearsal_does(history in any_history(TASKS, ARMS, 50)) {
        agrees("paired-slots.toml", &[opening(&TASKS[..2]), history].concat());
    }

    #[test]
    fn the_record_answers_as_the_rehearsal_does_by_plan(
        minimal in any_history(&["lower", "upper", "a"], &["exact", "fold"], 30),
        blocks in any_history(&["CDB-7", "MB-2"], &["without", "with", "solution"], 30),
    ) {
        agrees("minimal.toml", &minimal);
        // The record takes no report at its word, and these runs have a judge.
        let unscored = |timed: &Timed| !matches!(timed.op, Op::Score { .. });
        let blocks: Vec<Timed> = blocks.into_iter().filter(unscored).collect();
        agrees("block-stages.toml", &blocks);
    }
}
