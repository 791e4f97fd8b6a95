//! What looks at the world is believed: at the registration, before a start by hand, and at its end.

#![expect(
    clippy::unwrap_used,
    reason = "a test stops at the first broken assumption"
)]

mod desk;

use std::fs;
use std::process::Child;
use std::time::{Duration, Instant};

use desk::Desk;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

/// A desk with the study that looks at everything, some texts of its protocol replaced.
fn desk(replaced: &[(&str, &str)]) -> Desk {
    let desk = Desk::new();
    desk.lay("operator");
    let mut text = fs::read_to_string(desk.path("world.toml")).unwrap();
    for (old, new) in replaced {
        assert!(text.contains(old), "{old}");
        text = text.replace(old, new);
    }
    desk.write("world.toml", &text);
    desk
}

/// The probe of the protocol, as it stands there.
const PROBE: &str = r#"command = ["cat", "world/version"]"#;

#[test]
fn a_probe_that_binds_nothing_is_not_registered() {
    let json = r#"command = ["cat", "world/version"]
format = "json""#;
    for (probe, version, happened) in [
        (
            r#"command = ["cat", "world/none"]"#,
            "",
            "exit status 1 (cat: world/none",
        ),
        (r#"command = ["false"]"#, "", "it ended with exit status 1;"),
        (
            r#"command = ["sh", "-c", "kill $$"]"#,
            "",
            "signal 15 ended it",
        ),
        (
            r#"command = ["printf", "\\377"]"#,
            "",
            "its output is not UTF-8",
        ),
        (json, "{\"a\": 1, \"a\": 1}", "its output is not JSON: "),
        (json, "null", "it printed `null`"),
        (
            "command = [\"cat\", \"world/version\"]\nexpect = \"1.0\"",
            "1.1\n",
            "`version` is expected to be \"1.0\", and \"1.1\" was observed",
        ),
        (
            "command = [\"cat\", \"world/version\"]\nformat = \"json\"\nexpect = { a = 1 }\nexpect_absent = [\"b\"]",
            "{\"a\": 1, \"b\": 2}",
            "`b` is expected to be null, and 2 was observed",
        ),
    ] {
        let desk = desk(&[(PROBE, probe)]);
        desk.write("world/version", version);
        for verb in ["register", "run"] {
            let said = desk.say(&format!("{verb} world.toml"));
            assert!(
                said.contains("fault[probe]: the probe `version` "),
                "{said}"
            );
            assert!(said.contains(happened), "{happened}: {said}");
            assert!(said.ends_with("--- exit 1\n"), "{said}");
            assert!(!desk.path("world.prereg.db").exists(), "{probe}");
        }
    }
}

#[test]
fn what_is_registered_is_not_bound_again() {
    let desk = desk(&[]);
    assert!(desk.say("register world.toml").ends_with("--- exit 0\n"));
    desk.write("world/version", "1.1");
    let again = desk.json("register world.toml");
    assert_eq!(again["new"], false, "{again}");
    let run = desk.json("run world.toml");
    assert_eq!(run["code"], "probe-differs", "{run}");
}

/// Returns the code of what a command line was refused for.
fn refused(desk: &Desk, line: &str) -> Value {
    desk.json(line)["error"]["code"].clone()
}

fn head(desk: &Desk) -> Value {
    desk.json("status")["head"]["seq"].clone()
}

#[test]
fn a_start_by_hand_goes_by_what_the_world_says_now() {
    let desk = desk(&[]);
    desk.say("register world.toml");
    let start = "start t1 a --key first";
    for (file, says, code) in [
        (
            "ready-b",
            r#"{"status": "registration_required"}"#,
            "not-ready",
        ),
        (
            "ready-b",
            r#"{"status": "ready", "note": 1, "note": 2}"#,
            "not-ready",
        ),
        ("version", "1.1", "probe-differs"),
        (
            "load.json",
            r#"{"high": true, "until": "2099-01-01T00:00:00Z"}"#,
            "load-high",
        ),
        ("enabled", "off", "off"),
    ] {
        let path = desk.path(&format!("world/{file}"));
        let before = fs::read(&path).ok();
        desk.write(&format!("world/{file}"), says);
        assert_eq!(
            refused(&desk, &start.replace("first", file)),
            code,
            "{says}"
        );
        match before {
            Some(bytes) => fs::write(path, bytes).unwrap(),
            None => fs::remove_file(path).unwrap(),
        }
    }
    let seen = head(&desk);
    let started = desk.json(&format!("{start} --if-head {seen}"));
    assert_eq!(
        started["run"], 1,
        "looks are no news to whoever asks: {started}"
    );

    // The first answer stands, whatever the world says by now, and nobody looks at it.
    desk.write("world/version", "1.1");
    let before = head(&desk);
    let again = desk.json(start);
    assert_eq!(
        (&again["run"], &again["repeated"]),
        (&started["run"], &Value::from(true))
    );
    assert_eq!(head(&desk), before);
    desk.say("finish 1 --exit 0");
    desk.say("score 1 --no-report");

    // A control goes by the switch alone.
    assert_eq!(refused(&desk, "start t1 b"), "probe-differs");
    assert_eq!(desk.json("start t1 good")["arm"], "good");
    assert!(desk.say("verify world.prereg.db").ends_with("--- exit 0\n"));
}

#[test]
fn a_start_by_hand_looks_beside_the_record() {
    let desk = desk(&[]);
    fs::create_dir(desk.path("away")).unwrap();
    desk.say("register world.toml --db away/study.db");
    let start = "start t1 a --db away/study.db";
    assert_eq!(refused(&desk, start), "switch-unreadable");
    fs::create_dir(desk.path("away/world")).unwrap();
    for file in ["enabled", "preflight.sh", "load.json"] {
        let from = desk.path(&format!("world/{file}"));
        fs::copy(from, desk.path(&format!("away/world/{file}"))).unwrap();
    }
    assert_eq!(refused(&desk, start), "probe-differs");
    desk.write("away/world/version", "1.0");
    assert_eq!(desk.json(start)["run"], 1);
}

/// A look that goes on for long while a file stands there, and says who it is.
const SLOW: &str = r#"command = ["sh", "-c", "if [ -e slow ]; then echo $$ > pid; exec sleep 300; fi; cat world/version"]"#;

/// Begins a session whose look goes on for long; returns it with the process that looks.
fn looking(desk: &Desk) -> (Child, i32) {
    desk.write("slow", "");
    let session = desk.spawn("run world.toml");
    (session, who_looks(desk))
}

fn who_looks(desk: &Desk) -> i32 {
    let end = Instant::now() + Duration::from_secs(30);
    loop {
        let pid = fs::read_to_string(desk.path("pid")).unwrap_or_default();
        // Half a number would be somebody else's.
        if let Some(pid) = pid.strip_suffix('\n') {
            return pid.parse().unwrap();
        }
        assert!(Instant::now() < end, "nobody looks");
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// Returns whether a process is there and has not ended.
fn is_alive(pid: i32) -> bool {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    let state = stat.rsplit_once(") ").map(|(_, rest)| &rest[..1]);
    !matches!(state, None | Some("Z" | "X"))
}

#[test]
fn a_look_that_a_killed_session_left_is_ended_by_the_next() {
    let desk = desk(&[(PROBE, SLOW)]);
    desk.say("register world.toml");
    let (mut session, pid) = looking(&desk);
    session.kill().unwrap();
    session.wait().unwrap();
    assert!(
        is_alive(pid),
        "a look dies with its session: nothing to test"
    );
    fs::remove_file(desk.path("slow")).unwrap();
    let run = desk.json("run world.toml");
    assert_eq!(run["state"], "complete", "{run}");
    assert!(!is_alive(pid));
}

#[test]
fn a_look_after_the_last_run_is_ended_too() {
    let desk = desk(&[(PROBE, SLOW)]);
    let arm = "#!/bin/sh\ncd \"$(dirname \"$0\")/..\"\necho >> runs\n[ $(wc -l < runs) -lt 4 ] || : > slow\necho '{\"error\": false}'\n";
    desk.write("world/arm.sh", arm);
    let mut session = desk.spawn("run world.toml");
    let pid = who_looks(&desk);
    session.kill().unwrap();
    session.wait().unwrap();
    assert!(is_alive(pid));
    // The study has ended, so nothing is looked at any more.
    assert_eq!(desk.json("run world.toml")["state"], "complete");
    assert!(!is_alive(pid));
    let kept = desk.json("show 8")["outputs"][0].clone();
    let runs = desk.path(kept.as_str().unwrap());
    assert!(!runs.with_file_name("session").exists());
}

#[test]
fn an_interrupt_ends_a_look_at_once_and_nothing_is_lost() {
    let desk = desk(&[(PROBE, SLOW)]);
    desk.say("register world.toml");
    let before = head(&desk);
    let (mut session, pid) = looking(&desk);
    let began = Instant::now();
    kill_process(Pid::from_child(&session), Signal::INT).unwrap();
    assert_eq!(session.wait().unwrap().code(), Some(130));
    assert!(began.elapsed() < Duration::from_secs(30) && !is_alive(pid));
    assert_eq!(head(&desk), before, "what was not seen is not recorded");
    fs::remove_file(desk.path("slow")).unwrap();
    assert_eq!(desk.json("run world.toml")["state"], "complete");
}

#[test]
fn an_interrupt_ends_the_look_of_a_registration_and_nothing_is_written() {
    let desk = desk(&[(PROBE, SLOW)]);
    let (mut session, pid) = looking(&desk);
    kill_process(Pid::from_child(&session), Signal::INT).unwrap();
    assert_eq!(session.wait().unwrap().code(), Some(130));
    assert!(!is_alive(pid) && !desk.path("world.prereg.db").exists());
}

#[test]
fn a_repeated_switch_touches_nothing_and_another_mends_the_file() {
    let desk = desk(&[]);
    desk.say("register world.toml");
    let switch = desk.path("world/enabled");
    let says = || fs::read_to_string(&switch).unwrap();
    desk.say("switch off --key k");
    assert_eq!(says(), "off");
    desk.say("switch on");
    let again = desk.json("switch off --key k");
    assert_eq!(
        (&again["repeated"], &again["wrote"]),
        (&Value::from(true), &Value::from(false))
    );
    assert_eq!(says(), "on");

    // Whoever wrote to the file by hand is overruled by hand.
    desk.write("world/enabled", "off");
    let mended = desk.json("switch on");
    assert_eq!(
        (&mended["changed"], &mended["wrote"]),
        (&Value::from(false), &Value::from(true))
    );
    assert_eq!(says(), "on");
}

#[test]
fn the_switch_is_not_written_through_what_stands_in_its_place() {
    let desk = desk(&[]);
    desk.say("register world.toml");
    let switch = desk.path("world/enabled");
    let remove = || fs::remove_file(&switch).unwrap();
    desk.write("precious", "kept");
    remove();
    std::os::unix::fs::symlink("../precious", &switch).unwrap();
    assert!(desk.say("switch off").ends_with("--- exit 0\n"));
    assert_eq!(fs::read_to_string(desk.path("precious")).unwrap(), "kept");
    assert!(fs::symlink_metadata(&switch).unwrap().is_file());

    remove();
    let pipe = std::process::Command::new("mkfifo").arg(&switch).status();
    assert!(pipe.unwrap().success());
    assert!(desk.say("switch on").ends_with("--- exit 0\n"));
    assert_eq!(fs::read_to_string(&switch).unwrap(), "on");

    // The entry stands; the same again mends the file.
    remove();
    fs::create_dir(&switch).unwrap();
    let said = desk.say("switch off");
    assert!(
        said.contains("fault[switch-file]: the record says that the switch is off"),
        "{said}"
    );
    assert!(said.ends_with("--- exit 1\n"), "{said}");
    let entries = head(&desk);
    fs::remove_dir(&switch).unwrap();
    assert_eq!(desk.json("switch off")["wrote"], true);
    assert_eq!(fs::read_to_string(&switch).unwrap(), "off");
    assert_eq!(head(&desk), entries);
    let left = fs::read_dir(desk.path("world")).unwrap();
    let left = left.filter(|entry| {
        entry
            .as_ref()
            .unwrap()
            .file_name()
            .to_string_lossy()
            .ends_with(".tmp")
    });
    assert_eq!(left.count(), 0);
}
