//! Evidence that a run must have left: a run of which it is missing or does not cohere is unjudged.

#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a test that cannot go on fails where it stands; what is shared prints"
)]

mod common;

use std::fs;

use common::{Recipe, Study};
use prereg::engine::command::{EndedBy, Ending, Execution, Stream, WorkspaceSeen};
use prereg::engine::evidence::{Known, Slip, slip};
use prereg::engine::rules::Rules;
use prereg::engine::slice::Run;
use prereg::folder::DiskFolder;
use prereg::protocol::check::check;
use prereg::units::{Bytes, Digest, Micros, Time};
use serde_json::{Value, json};

/// A study that requires a measurement of its runs.
fn study(arm: &str) -> Study {
    let study = Recipe {
        tasks: 1,
        repeats: 1,
        runs_max: 1,
        arms: [arm.to_owned(), "printf b > out; exit 3".to_owned()],
        timeout: "2s",
        ..Recipe::default()
    }
    .lay();
    let text = fs::read_to_string(study.base.join("study.toml")).unwrap();
    study.write(
        "study.toml",
        &text.replace(
            "[claim]\n",
            "[evidence]\nrequired = [\"measurement\"]\n[claim]\n",
        ),
    );
    study
}

#[test]
fn what_is_executed_here_leaves_its_measurement() {
    for arm in [
        "printf a > out",
        "kill -9 $$",
        "sleep 60",
        // What an arm can write says nothing against itself.
        "printf a > out; touch -d 2001-01-01 out; : > new; touch -d 2099-01-01 new",
        "i=0; while [ $i -lt 20000 ]; do i=$((i+1)); done",
    ] {
        let study = study(arm);
        study.complete();
        study.verify();
        for run in study.runs() {
            assert_eq!(run["state"], "scored", "{arm}: {run}");
            let execution = &run["execution"];
            for part in [
                "user",
                "system",
                "memory",
                "processors",
                "ended_by",
                "stdout",
                "stderr",
            ] {
                assert!(!execution[part].is_null(), "{arm}: {part}: {run}");
            }
        }
    }
}

#[test]
fn a_run_without_its_measurement_is_unjudged_and_its_slot_waits() {
    let study = study("printf a > out");
    study.register();
    study.data(&["start", "t0", "a", "--ref", "by hand"]);
    study.data(&["finish", "1", "--exit", "0", "--wall", "3s"]);
    assert_eq!(
        study.states(),
        [("a".to_owned(), "unjudged".to_owned(), "evidence".to_owned())]
    );
    let shown = study.prereg(&["show", "1"]).out;
    assert!(shown.contains("unjudged (evidence)"), "{shown}");
    let reason = "  reason    the required evidence lacks who ended it\n";
    assert!(shown.contains(reason), "{shown}");
    let late = study.prereg(&["score", "1", "--no-report", "--json"]);
    assert_eq!(late.error_code(), "already-closed");
    // `rerun` has the word for it, so the slot is attempted again, and is measured now.
    study.complete();
    study.verify();
    let runs = study.runs();
    let [_, again, _] = &runs[..] else {
        panic!("{runs:?}")
    };
    assert_eq!(again["place"]["attempt"], 2);
    assert_eq!(again["state"], "scored");
    assert_eq!(study.data(&["analyze"])["reported_by_hand"], 1);
    let page = study.prereg(&["analyze"]).out;
    assert!(page.contains("\n  by hand   1 of the runs"), "{page}");
}

#[test]
fn a_claim_that_is_neither_true_nor_false_loses_no_run() {
    let study = study("printf a > out; printf '{\"done\": \"yes\"}' > claim.json");
    study.complete();
    study.verify();
    for run in study.runs() {
        assert_eq!(run["state"], "scored", "{run}");
        let claimed = run["arm"] == "a";
        assert_eq!(run["outcomes"]["false_claim"].is_null(), claimed, "{run}");
    }
}

/// Takes what a measurement must be held to: the rules, and a run of them.
fn held() -> (Rules, Run) {
    let study = study("printf a > out");
    study.complete();
    let run: Run = {
        let mut run = study.data(&["show", "1"]);
        let object = run.as_object_mut().unwrap();
        for name in ["sealed", "outputs", "block", "block_incomplete", "void"] {
            object.remove(name);
        }
        serde_json::from_value(run).unwrap()
    };
    let text = fs::read(study.base.join("study.toml")).unwrap();
    let checked = check(&text, &DiskFolder::at(&study.base)).unwrap();
    let rules = Rules::new(checked.registration, checked.tasks).unwrap();
    (rules, run)
}

const SECOND: u64 = 1_000_000;

#[test]
fn a_measurement_that_does_not_cohere_is_none() {
    let (rules, run) = held();
    let start = run.started_at;
    let after = |seconds: u64| start.plus(Micros(seconds * SECOND));
    let stream = |bytes: u64, kept: u64, tail: u64, digested: bool| Stream {
        bytes,
        kept,
        tail,
        digest: digested.then(|| Digest::of(&[b"what was printed"])),
    };
    let seen = |first: Option<Time>, last: Option<Time>| {
        Some(Box::new(WorkspaceSeen {
            first_write: first,
            last_write: last,
            ..WorkspaceSeen::default()
        }))
    };
    let ending = Ending {
        wall: Some(Micros(10 * SECOND)),
        ..Ending::default()
    };
    let whole = Execution {
        exit: Some(0),
        user: Some(Micros(5 * SECOND)),
        system: Some(Micros(0)),
        processors: Some(2),
        memory: Some(Bytes(1)),
        ended_by: Some(EndedBy::Itself),
        stdout: Some(stream(10, 10, 0, true)),
        stderr: Some(stream(0, 0, 0, false)),
        workspace: seen(Some(after(1)), Some(after(9))),
        ..Execution::default()
    };
    let judge = |ending: &Ending, execution: &Execution, clocks_are_right| {
        let known = Known {
            run: &run,
            ending,
            execution: Some(execution),
            at: after(11),
            clocks_are_right,
        };
        slip(&rules, known)
    };
    assert_eq!(judge(&ending, &whole, true), None);

    // What is missing.
    let none = Value::Null;
    for (part, lacks) in [
        ("exit", "an exit status or a signal"),
        ("ended_by", "who ended it"),
        ("user", "the processor time by itself"),
        ("system", "the processor time by the system"),
        ("memory", "the memory"),
        ("stdout", "the bytes of its output"),
        ("stderr", "the bytes of its complaints"),
    ] {
        let mut json = serde_json::to_value(&whole).unwrap();
        json[part] = none.clone();
        let lacking: Execution = serde_json::from_value(json).unwrap();
        match judge(&ending, &lacking, true) {
            Some(Slip::Missing(what)) => assert!(what.contains(lacks), "{part}: {what}"),
            other => panic!("{part}: {other:?}"),
        }
    }
    let unknown = Ending::default();
    assert_eq!(
        judge(&unknown, &whole, true),
        Some(Slip::Missing("the wall time"))
    );
    let nothing = Known {
        run: &run,
        ending: &ending,
        execution: None,
        at: after(11),
        clocks_are_right: true,
    };
    assert!(matches!(slip(&rules, nothing), Some(Slip::Missing(_))));

    // What cannot be so, and at which bound it begins to be so.
    let limit = |wall: u64| Ending {
        wall: Some(Micros(wall)),
        timed_out: true,
        ..Ending::default()
    };
    let most = Micros(2 * (10 + 10) * SECOND);
    let with = |change: &dyn Fn(&mut Execution)| {
        let mut changed = whole.clone();
        change(&mut changed);
        changed
    };
    let by = |by, exit, signal| {
        with(&|execution| {
            execution.ended_by = Some(by);
            execution.exit = exit;
            execution.signal = signal;
        })
    };
    let out = |stream: Stream| with(&|execution| execution.stdout = Some(stream.clone()));
    let wrote = |first, last| with(&|execution| execution.workspace = seen(first, last));
    let user = |user: u64| with(&|execution| execution.user = Some(Micros(user)));
    for (how, sound, ending, execution) in [
        (
            "both",
            false,
            &ending,
            by(EndedBy::Itself, Some(0), Some(9)),
        ),
        (
            "it has none",
            false,
            &ending,
            by(EndedBy::Signal, Some(0), None),
        ),
        ("", true, &ending, by(EndedBy::Signal, None, Some(11))),
        (
            "no exit status",
            false,
            &ending,
            by(EndedBy::Itself, None, Some(9)),
        ),
        (
            "a limit did differ",
            false,
            &ending,
            by(EndedBy::TimeLimit, None, Some(9)),
        ),
        (
            "a limit did differ",
            false,
            &limit(9 * SECOND),
            by(EndedBy::Itself, Some(0), None),
        ),
        (
            "",
            true,
            &limit(2 * SECOND),
            by(EndedBy::TimeLimit, None, Some(15)),
        ),
        (
            "",
            true,
            &limit(SECOND),
            by(EndedBy::CpuLimit, None, Some(15)),
        ),
        ("processors have", false, &ending, user(most.0 + 1)),
        ("", true, &ending, user(most.0)),
        (
            "than there was",
            false,
            &ending,
            out(stream(10, 11, 0, true)),
        ),
        (
            "than there was",
            false,
            &ending,
            out(stream(10, 5, 6, true)),
        ),
        (
            "than there was",
            false,
            &ending,
            out(stream(10, 10, 0, false)),
        ),
        ("", true, &ending, out(stream(1000, 10, 5, true))),
    ] {
        let found = judge(ending, &execution, false);
        match (sound, found) {
            (true, None) => {}
            (false, Some(Slip::Incoherent(said))) => assert!(said.contains(how), "{how}: {said}"),
            (_, found) => panic!("{how}: {found:?} of {execution:?}"),
        }
    }

    // What only right clocks can tell.
    let long = |wall: u64| Ending {
        wall: Some(Micros(wall)),
        ..Ending::default()
    };
    let early = Time(start.0 - 3 * SECOND as i64);
    for (how, ending, execution) in [
        ("went on for longer", &long(14 * SECOND), whole.clone()),
        ("changed files", &ending, wrote(Some(early), Some(after(1)))),
        (
            "changed files",
            &ending,
            wrote(Some(after(1)), Some(after(14))),
        ),
        (
            "changed files",
            &ending,
            wrote(Some(after(3)), Some(after(2))),
        ),
    ] {
        match judge(ending, &execution, true) {
            Some(Slip::Incoherent(said)) => assert!(said.contains(how), "{how}: {said}"),
            other => panic!("{how}: {other:?}"),
        }
        assert_eq!(judge(ending, &execution, false), None, "{how}");
    }
}

#[test]
fn a_protocol_that_requires_what_no_run_could_leave_is_refused() {
    let study = study("true");
    let text = fs::read_to_string(study.base.join("study.toml")).unwrap();
    for (from, to, code) in [
        ("[\"measurement\"]", "[\"measuremnt\"]", "word"),
        (
            "[\"measurement\"]",
            "[\"measurement\", \"measurement\"]",
            "duplicate-id",
        ),
        (
            "differs = [\"command\"]",
            "differs = [\"command\", \"executed\"]\nexecuted = \"elsewhere\"",
            "arms",
        ),
    ] {
        study.write("study.toml", &text.replace(from, to));
        let said = study.prereg(&["check", "study.toml", "--json"]);
        assert_eq!(said.code, Some(3), "{said:?}");
        assert_eq!(
            said.json()["error"]["defects"][0]["code"],
            json!(code),
            "{said:?}"
        );
    }
}
