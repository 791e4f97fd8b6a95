//! The model check: what is found, by which history, and that the history does what it claims.

#![allow(
    clippy::unwrap_used,
    reason = "a test that cannot go on fails where it stands"
)]

use std::path::Path;
use std::process::Command;

use prereg::engine::modelcheck::{self, History, Model, STATES_MAX, Weakness};
use prereg::engine::rehearsal::Rehearsal;
use prereg::engine::rehearsal::op::Timed;
use prereg::engine::rules::Rules;
use prereg::engine::sound;
use prereg::folder::DiskFolder;
use prereg::protocol::check::{Checked, check};
use prereg::protocol::model::{
    BlockKind, CauseWord, ErrorsIn, LateReport, OrderBy, Protocol, ScoreWord, Serial, Voids,
};
use prereg::units::Share;
use serde_json::{Map, Value, json};

/// How many states are enough for a test.
const ENOUGH: usize = 2_000;

fn shipped(name: &str) -> Checked {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("protocols");
    let text = std::fs::read(folder.join(name)).unwrap();
    check(&text, &DiskFolder::at(&folder)).unwrap()
}

/// Returns a shipped protocol with another meaning.
fn changed(name: &str, change: impl FnOnce(&mut Protocol)) -> Checked {
    let mut checked = shipped(name);
    change(&mut checked.registration.protocol);
    checked
}

fn found(checked: &Checked) -> Model {
    modelcheck::check(&checked.registration).unwrap()
}

/// Rehearses a history; returns the answers, and how the rehearsal ends.
fn rehearsed(rules: &Rules, operations: &[Value]) -> (Vec<Value>, Value) {
    let mut rehearsal = Rehearsal::new(rules);
    let answers = operations.iter().map(|operation| {
        let timed = Timed::read(operation);
        let timed = timed.unwrap_or_else(|defects| panic!("{operation}: {defects:?}"));
        rehearsal.play(&timed).json(|_| Map::new())
    });
    (answers.collect(), rehearsal.end())
}

/// Fails unless a history of the small instance ends in what it is to show.
fn does_what_it_claims(checked: &Checked, weakness: Weakness, history: &History) {
    let rules = modelcheck::instance(&checked.registration).unwrap();
    let told = history.lines().join("\n");
    match weakness {
        Weakness::CanGetStuck => is_stuck(&rules, &history.operations, &told),
        Weakness::OutageNotBlind => is_blind(&rules, &history.operations, &told),
    }
}

/// The last four operations ask for every start; a day later they are refused once more.
fn is_stuck(rules: &Rules, operations: &[Value], told: &str) {
    let mut operations = operations.to_vec();
    let starts = operations.split_off(operations.len() - 4);
    let later = starts.iter().map(|start| {
        let mut later = start.clone();
        let at = start["at"].as_str().unwrap();
        later["at"] = at.replacen("2026", "2027", 1).into();
        later
    });
    operations.extend(starts.clone());
    operations.extend(later);
    let (answers, end) = rehearsed(rules, &operations);
    let refused = &answers[answers.len() - 8..];
    assert!(
        refused.iter().all(|answer| answer["ok"] == false),
        "{told}\n{refused:?}"
    );
    let is_left = |answer: &Value| answer["reason"] != "slots_used";
    assert!(refused.iter().any(is_left), "all slots have ended:\n{told}");
    let runs = end["runs"].as_array().unwrap();
    assert!(
        runs.iter().all(|run| run[3] != "running"),
        "{told}\n{runs:?}"
    );
}

/// One arm alone has error stops in the last hour, and that hour is an outage.
fn is_blind(rules: &Rules, operations: &[Value], told: &str) {
    let last = operations.last().unwrap()["at"].as_str().unwrap();
    let hour = &last[..13];
    let mut operations = operations.to_vec();
    let start = |arm: &str| json!({ "op": "start", "at": last, "task": "task-1", "arm": arm });
    let arms = rules.protocol().arms.iter();
    operations.extend(arms.map(|arm| start(&arm.id)));
    let (answers, end) = rehearsed(rules, &operations);
    let paused = rules.protocol().outage.as_ref().unwrap().pauses_starts;
    let refused = answers.last().unwrap();
    assert!(
        !paused || refused["reason"] == "outage_hour",
        "{told}\n{refused}"
    );
    let runs = end["runs"].as_array().unwrap();
    let stopped = operations.iter().filter(|operation| {
        let at = operation["at"].as_str().unwrap();
        operation["stopped_on_error"] == true && at.starts_with(hour)
    });
    let arm_of = |operation: &Value| {
        let run = runs.iter().find(|run| run[0] == operation["run"]);
        run.unwrap()[2].clone()
    };
    let mut arms: Vec<Value> = stopped.map(arm_of).collect();
    arms.dedup();
    assert_eq!(arms.len(), 1, "{told}");
    if rules.protocol().allocation.by == OrderBy::Plan {
        assert!(runs.iter().any(|run| run[3] == "void"), "{told}\n{runs:?}");
    }
}

fn snapshot(name: &str, text: &str) {
    let mut settings = insta::Settings::new();
    settings.set_snapshot_path(Path::new(env!("CARGO_MANIFEST_DIR")).join("snapshots"));
    settings.set_prepend_module_to_snapshot(false);
    settings.set_omit_expression(true);
    settings.bind(|| insta::assert_snapshot!(format!("modelcheck__{name}"), text));
}

#[test]
fn the_paired_rules_are_caught_for_both_by_shortest_histories() {
    let checked = shipped("paired-slots.toml");
    let model = found(&checked);
    assert_eq!(model.findings.len(), 2);
    assert!(
        model.complete && model.states < 2_000,
        "{} states",
        model.states
    );
    for (weakness, history) in &model.findings {
        let name = format!("paired-slots-{}", weakness.code().text());
        snapshot(&name, &history.lines().join("\n"));
        does_what_it_claims(&checked, *weakness, history);
    }
}

#[test]
fn the_paired_rules_get_stuck_as_they_were_registered() {
    let checked = shipped("paired-slots.toml");
    let stuck = &found(&checked).findings[&Weakness::CanGetStuck];
    let rules = Rules::new(checked.registration, checked.tasks).unwrap();
    let at = "2026-01-01T08:00:00Z";
    let task = |id: &str| {
        json!({ "op": "register", "at": at, "task": id, "split": "full",
            "fail_to_pass_count": 1, "pass_to_pass_count": 1 })
    };
    let mut operations = vec![
        json!({ "op": "switch", "at": at, "value": "on" }),
        task("task-1"),
        task("task-2"),
        json!({ "op": "draw", "at": at, "from": 1, "tasks": ["task-1", "task-2"] }),
    ];
    operations.extend(stuck.operations.clone());
    is_stuck(&rules, &operations, &stuck.lines().join("\n"));
}

#[test]
fn every_history_does_what_it_claims() {
    let (mut stuck, mut blind) = (0, 0);
    for number in 0..96_u32 {
        let bit = |place: u32| number >> place & 1 == 1;
        let checked = changed("paired-slots.toml", |protocol| {
            let allocation = &mut protocol.allocation;
            allocation.by = if bit(0) {
                OrderBy::Plan
            } else {
                OrderBy::Counts
            };
            allocation.repeats = 1 + number % 3;
            allocation.serial = if bit(1) { Serial::None } else { Serial::Block };
            allocation.block = if bit(2) {
                BlockKind::Pair
            } else {
                BlockKind::Task
            };
            let attempts = &mut protocol.attempts;
            attempts.per_slot = [Some(1), Some(2), None][(number / 3 % 3) as usize];
            attempts.late_report = if bit(3) {
                LateReport::Refuse
            } else {
                LateReport::UntilClosed
            };
            if bit(4) {
                attempts.rerun = vec![CauseWord::Unjudged];
            }
            if bit(5) {
                protocol.scoring.on_error_stop = ScoreWord::Unjudged;
            }
            let outage = protocol.outage.as_mut().unwrap();
            outage.ended_min = 1 + number / 5 % 5;
            outage.error_share = Share {
                num: 1,
                den: 1 + u64::from(number / 7 % 3),
            };
            outage.errors_in = if bit(6) {
                ErrorsIn::EveryArm
            } else {
                ErrorsIn::AnyArm
            };
            outage.voids = if number % 5 < 2 {
                Voids::Block
            } else {
                Voids::Run
            };
            outage.pauses_starts = number % 7 != 0;
        });
        let wanted = modelcheck::possible(&checked.registration.protocol);
        let model = modelcheck::play(&checked.registration, &wanted, ENOUGH).unwrap();
        for (weakness, history) in &model.findings {
            does_what_it_claims(&checked, *weakness, history);
        }
        stuck += u32::from(model.findings.contains_key(&Weakness::CanGetStuck));
        blind += u32::from(model.findings.contains_key(&Weakness::OutageNotBlind));
    }
    assert!(stuck > 10 && blind > 10, "{stuck} stuck, {blind} not blind");
}

/// What the doc comment of the model check proves is played here all the same.
#[test]
fn what_need_not_be_played_has_no_weakness_when_it_is() {
    for name in [
        "annotated.toml",
        "block-stages.toml",
        "coding-agent.toml",
        "matrix-attempts.toml",
        "minimal.toml",
        "quickstart.toml",
    ] {
        let checked = shipped(name);
        assert_eq!(found(&checked).states, 0, "{name} was played");
        let model = modelcheck::play(&checked.registration, &Weakness::ALL, ENOUGH).unwrap();
        let told = model
            .findings
            .values()
            .map(|history| history.lines().join("\n"));
        assert_eq!(told.collect::<Vec<_>>(), Vec::<String>::new(), "{name}");
        assert!(model.states > 20, "{name}: {} states", model.states);
    }
}

#[test]
fn turns_without_outages_are_sound_unless_late_reports_count() {
    let rules = |late_report| {
        changed("paired-slots.toml", |protocol| {
            protocol.outage = None;
            protocol.attempts.late_report = late_report;
            protocol.attempts.rerun = vec![CauseWord::Unjudged];
        })
    };
    let sound = found(&rules(LateReport::Refuse));
    assert!(sound.complete && sound.findings.is_empty(), "{sound:?}");
    assert!(
        sound.states > 50 && sound.states < STATES_MAX,
        "{}",
        sound.states
    );
    let late = rules(LateReport::UntilClosed);
    let model = found(&late);
    let stuck = model.findings.get(&Weakness::CanGetStuck);
    let stuck = stuck.unwrap_or_else(|| panic!("{} states", model.states));
    snapshot("late-report", &stuck.lines().join("\n"));
    does_what_it_claims(&late, Weakness::CanGetStuck, stuck);
}

#[test]
fn a_stage_that_stays_closed_is_found_and_one_that_waits_for_the_world_is_not_blamed() {
    let opens = |text: &str| {
        let checked = changed("block-stages.toml", |protocol| {
            protocol.stages[1].opens = Some(text.to_owned());
        });
        let model = found(&checked);
        if let Some(stuck) = model.findings.get(&Weakness::CanGetStuck) {
            does_what_it_claims(&checked, Weakness::CanGetStuck, stuck);
        }
        (model.states > 0, model.findings.len())
    };
    let complete = "stages['phase-1'].complete";
    let quota = "readings.quota.seven_day < 0.5";
    for (text, expected) in [
        (format!("{complete} && gates.go"), (false, 0)),
        (format!("{complete} && {quota}"), (false, 0)),
        (
            format!("{complete} && now > '2030-01-01T00:00:00Z'"),
            (false, 0),
        ),
        (format!("!{complete}"), (true, 1)),
        (format!("!{complete} && {quota}"), (true, 1)),
        ("false".to_owned(), (true, 1)),
    ] {
        assert_eq!(opens(&text), expected, "{text}");
    }
}

#[test]
fn check_says_how_far_it_played() {
    let said = |name: &str| -> Value {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("protocols");
        let output = Command::new(env!("CARGO_BIN_EXE_prereg"))
            .args(["check", "--json"])
            .arg(folder.join(name))
            .output()
            .unwrap();
        let said: Value = serde_json::from_slice(&output.stdout).unwrap();
        said["model"].clone()
    };
    let none = json!({ "states": 0, "depth": 0, "complete": true, "findings": [] });
    assert_eq!(said("minimal.toml"), none);
    let paired = said("paired-slots.toml");
    let findings = paired["findings"].as_array().unwrap();
    let codes: Vec<&Value> = findings.iter().map(|finding| &finding["code"]).collect();
    assert_eq!(codes, ["can-get-stuck", "outage-not-blind"]);
    assert!(
        findings[0]["history"][0]
            .as_str()
            .unwrap()
            .starts_with("09:00  baseline")
    );
    assert_eq!(findings[0]["operations"][0]["op"], "start");
    assert!(paired["depth"].as_u64().unwrap() > 3, "{paired}");
}

/// Returns what is found of the smallest protocol with more in it, where the limitation is named or not.
fn found_with(more: &str, named: bool) -> Vec<String> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("protocols");
    let text = std::fs::read_to_string(folder.join("minimal.toml")).unwrap();
    // With stages repeats are given there.
    let staged = more.contains("[[stages]]");
    let text = match staged {
        true => text.replace("{ repeats = 2 }", "{}"),
        false => text,
    };
    let named = if named {
        "\"can-get-stuck\" = \"it may\"\n"
    } else {
        ""
    };
    let more = format!("{more}\n[limitations]\n{named}");
    let text = text.replace("[limitations]\n", &more);
    let checked = sound::check(text.as_bytes(), &DiskFolder::at(&folder));
    let defects = checked.err().unwrap_or_default();
    let told = defects
        .iter()
        .map(|defect| format!("{} {:?}", defect.code.text(), defect.place));
    told.collect()
}

#[test]
fn a_stop_that_starves_one_slot_is_found_and_one_that_stops_the_study_is_not() {
    let stop = |scope: &str| {
        let reading =
            "[[readings]]\nid = \"quota\"\nfields = { used = \"number\" }\nfrom = \"operator\"\n";
        let stop =
            "[[stops]]\nid = \"full\"\nwhen = \"readings.quota.used > 0.9\"\nunknown = \"go\"\n";
        format!("{reading}{stop}scope = \"{scope}\"\n")
    };
    assert_eq!(found_with(&stop("study"), false), [""; 0]);
    assert_eq!(
        found_with(&stop("study"), true).len(),
        1,
        "named, not there"
    );
    let stuck = ["can-get-stuck Key(\"/stops/0/scope\")"];
    assert_eq!(found_with(&stop("arm"), false), stuck);
    assert_eq!(found_with(&stop("arm"), true), [""; 0]);
    let staged = |opens: &str| {
        let stages = format!(
            "[[stages]]\nid = \"one\"\nrepeats = 1\n[[stages]]\nid = \"two\"\nrepeats = 1\n{opens}"
        );
        format!("{}{stages}", stop("stage"))
    };
    let waits = "opens = \"stages['one'].complete\"\n";
    assert_eq!(found_with(&staged(waits), false), stuck);
    assert_eq!(found_with(&staged(""), false), [""; 0]);
}

#[test]
fn a_budget_that_starves_one_slot_is_found_and_one_that_ends_the_study_is_not() {
    let found = |budget: &str, named: bool| found_with(&format!("[[budgets]]\n{budget}"), named);
    let cost = "counts = \"cost\"\nmax = \"3 USD\"\nreserve = \"1 USD\"\nunknown = \"reserve\"\n";
    let stuck = ["can-get-stuck Key(\"/budgets/0\")"];
    let study = format!("{cost}per = \"study\"");
    assert_eq!(found(&study, false), [""; 0]);
    assert_eq!(found(&study, true).len(), 1, "named, and not there");
    for budget in [
        format!("{cost}per = \"task\""),
        format!("{cost}per = \"arm\""),
        "counts = \"reruns\"\nper = \"study\"\nmax = 2".to_owned(),
    ] {
        assert_eq!(found(&budget, false), stuck, "{budget}");
        assert_eq!(found(&budget, true), [""; 0], "{budget}");
    }
}
