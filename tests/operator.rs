//! What the world and the operator report, by hand and in sessions of `run`.

#[macro_use]
mod desk;

use desk::Desk;
use serde_json::json;

fn desk() -> Desk {
    let desk = Desk::new();
    desk.lay("operator");
    desk
}

#[test]
fn a_study_that_grows_is_led_by_hand() {
    let desk = desk();
    let tasks = [
        r#"{"id": "t1", "split": "full", "fail_to_pass_count": 1, "pass_to_pass_count": 2}"#,
        r#"{"id": "t2", "split": "full", "fail_to_pass_count": 3, "pass_to_pass_count": 0}"#,
    ];
    desk.write("tasks.jsonl", &tasks.join("\n"));
    let other = tasks[1].replace("3", "4");
    desk.write("other.jsonl", &format!("{}\n{other}", tasks[0]));
    let mistyped =
        r#"{"id": "t3", "split": "full", "fail_to_pass_count": "1", "pass_to_pass_count": 2}"#;
    desk.write(
        "mixed.jsonl",
        &format!("{}\n{mistyped}", tasks[0].replace("t1", "t9")),
    );
    desk.write("broken.jsonl", "{\"id\": \"t4\"\n\n{\"id\": \"t5\"} x\n");
    desk.write("stopped.json", r#"{"subtype": "error_during_execution"}"#);
    let lines = [
        "register paired.toml",
        "task add tasks.jsonl --key batch",
        "task add tasks.jsonl --key batch",
        "task add tasks.jsonl",
        "task add other.jsonl",
        "task add mixed.jsonl",
        "task add broken.jsonl",
        "start t1 baseline",
        "draw append t1 t2",
        "draw append --from 1 t1 t2",
        "draw append --from 4 t1",
        "draw append t9",
        "start t1 treatment",
        "start t1 baseline",
        "finish 1 --exit 0",
        "score 1 --diff tasks.jsonl",
        "score 1",
        "breaker open",
        "start t1 treatment",
        "breaker clear",
        "switch off",
        "start t1 treatment",
        "switch on",
        "switch on",
        "start t1 treatment",
        "checkpoint 2 failed --reason no-plan-was-written",
        "checkpoint 2 passed",
        "cost 2 1.25 USD",
        "finish 2 --exit 1 --observed stopped.json",
        "cost 2 1.25 USD",
        "cost 2 1.25 USD",
        "cost 2 1 USD",
        "show 2",
        "void 1 --reason none",
        "deviate --note the-agent-was-updated",
        "reading add quota {}",
        "status",
        "verify paired.prereg.db",
    ];
    transcript!("operator__by_hand", desk.say_all(&lines));
}

#[test]
fn a_refused_task_leaves_none_of_its_list_behind() {
    let desk = desk();
    desk.say("register paired.toml");
    let good = r#"{"id": "t1", "split": "full", "fail_to_pass_count": 1, "pass_to_pass_count": 2}"#;
    desk.write(
        "mixed.jsonl",
        &format!(
            "{good}\n{}",
            good.replace("1,", "\"1\",").replace("t1", "t2")
        ),
    );
    let before = desk.json("status")["head"].clone();
    assert!(desk.say("task add mixed.jsonl").ends_with("--- exit 4\n"));
    assert_eq!(desk.json("status")["head"], before);
    desk.write("good.jsonl", good);
    assert_eq!(desk.json("task add good.jsonl")["added"], 1);
}

/// Writes a task, adds it to the open frame and draws it.
fn task_is_drawn(desk: &Desk, id: &str) -> String {
    desk.write("task.jsonl", &format!("{{\"id\": \"{id}\", \"size\": 1}}"));
    desk.say_all(&["task add task.jsonl", &format!("draw append {id}")])
}

#[test]
fn a_session_of_a_draw_that_grows_ends_without_ending_the_study() {
    let desk = desk();
    let said = [
        desk.say("register grows.toml"),
        desk.say("run -q grows.toml"),
        task_is_drawn(&desk, "t1"),
        desk.say("run -q grows.toml"),
        desk.say_all(&["run -q grows.toml", "status", "status --unblind"]),
        task_is_drawn(&desk, "t2"),
        desk.say("draw append t3"),
        desk.say("run -q grows.toml"),
        desk.say_all(&["run -q grows.toml", "status", "verify grows.prereg.db"]),
    ];
    transcript!("operator__grows", said.join("\n"));
}

#[test]
fn a_session_goes_by_counts_until_the_draw_is_out() {
    let desk = desk();
    let text = std::fs::read_to_string(desk.path("grows.toml")).unwrap();
    let alternating = "repeats  = 2\narms = \"alternating\"\nby = \"counts\"\n";
    let text =
        text.replace("repeats  = 1\n", alternating) + "\"order-unbalanced\" = \"they alternate\"\n";
    // Under an order by counts one arm waits for the other.
    desk.write("grows/meet.sh", "#!/bin/sh\n");
    desk.write("grows.toml", &text);
    desk.say("register grows.toml");
    task_is_drawn(&desk, "t1");
    let first = desk.json("run grows.toml");
    assert_eq!(
        (&first["state"], &first["slots"]),
        (&json!("drawn-out"), &json!(4)),
        "{first}"
    );
    assert_eq!(first.get("tally"), None, "outcomes stay sealed");
    task_is_drawn(&desk, "t2");
    let tally = desk.json("run grows.toml")["tally"].clone();
    let told = [
        &tally["slots"],
        &tally["scored"],
        &tally["unjudged"],
        &tally["reruns"],
    ];
    assert_eq!(told, [8, 8, 0, 0], "{tally}");
    assert_eq!(tally["outcomes"][0]["arms"][1]["count"], 4, "{tally}");
}

#[test]
fn an_error_stop_of_an_outage_is_in_no_count() {
    let desk = desk();
    let text = std::fs::read_to_string(desk.path("paired.toml")).unwrap();
    desk.write(
        "paired.toml",
        &text.replace("ended_min     = 4", "ended_min     = 1"),
    );
    let task = r#"{"id": "t1", "split": "full", "fail_to_pass_count": 1, "pass_to_pass_count": 2}"#;
    desk.write("tasks.jsonl", task);
    desk.write("stopped.json", r#"{"subtype": "error_during_execution"}"#);
    desk.say_all(&[
        "register paired.toml",
        "task add tasks.jsonl",
        "draw append t1",
        "switch on",
        "start t1 baseline",
        "finish 1 --exit 0 --observed stopped.json",
        "score 1",
    ]);
    let status = desk.json("status --unblind");
    let standing = &status["standing"];
    assert_eq!(standing["arms"]["baseline"]["scored"], 1, "{status}");
    let tally = &status["tally"];
    assert_eq!([&tally["scored"], &tally["slots"]], [0, 6], "{tally}");
    assert_eq!(tally["outcomes"][0]["arms"][0]["known"], 0, "{tally}");
}

#[test]
fn a_draw_that_still_grows_ends_with_the_cut_off() {
    let desk = desk();
    let text = std::fs::read_to_string(desk.path("grows.toml")).unwrap();
    let text = text.replace(
        "[execution]",
        "[cutoff]\nat = \"2020-01-01T00:00:00Z\"\n[execution]",
    );
    desk.write("grows.toml", &text);
    let run = desk.say("run grows.toml");
    assert!(run.contains("stopped     past-cutoff: "), "{run}");
    assert!(desk.json("status")["standing"]["stopped"]["code"] == "past-cutoff");
}

#[test]
fn a_session_looks_at_the_world_and_goes_by_what_it_says() {
    let desk = desk();
    let mut said = Vec::new();
    let mut say = |line: &str| said.push(desk.say(line));
    say("register world.toml");
    desk.write("world/enabled", "off\n");
    say("run world.toml");
    desk.write("world/enabled", "on\n");
    desk.write("world/ready-b", r#"{"status": "registration_required"}"#);
    say("run world.toml");
    say("status");
    desk.write("world/ready-b", "?");
    say("run world.toml");
    say("status");
    desk.write("world/ready-b", r#"{"status": "ready"}"#);
    desk.write("world/version", "1.1");
    say("run world.toml");
    desk.write("world/version", "1.0");
    say("reading add word {\"go\":false}");
    say("run world.toml");
    say("reading add word {\"go\":true}");
    desk.write(
        "world/load.json",
        r#"{"high": true, "until": "2099-01-01T00:00:00Z"}"#,
    );
    say("run world.toml");
    desk.write("world/load.json", r#"{"high": false}"#);
    desk.write("world/says-a-t1", r#"{"error": true}"#);
    desk.write(
        "world/says-b-t1",
        r#"{"error": false, "quota": {"used": 0.95}}"#,
    );
    say("run world.toml");
    say("show 3");
    say("run world.toml");
    transcript!("operator__world", said.join("\n"));
}

#[test]
fn what_failed_starts_again_on_request_alone() {
    let desk = desk();
    desk.write("world/says-a-t1", r#"{"error": true}"#);
    let first = desk.json("run world.toml");
    assert_eq!(first["state"], "complete", "{first}");
    assert_eq!(desk.json("run world.toml")["state"], "complete");
    let before = desk.json("status")["standing"]["runs"].clone();
    desk.write("world/says-a-t1", r#"{"error": false}"#);
    let again = desk.json("run world.toml --retry-failed");
    let after = desk.json("status")["standing"]["runs"].clone();
    assert_eq!(before, json!(8), "two controls a task, and four slots");
    assert_eq!(
        (again["state"].as_str(), after),
        (Some("complete"), json!(9))
    );
    assert_eq!(again["tally"]["scored"], 4, "{again}");
    let nothing = desk.json("run world.toml --retry-failed");
    assert_eq!(nothing["tally"], again["tally"]);
    assert!(desk.say("verify world.prereg.db").ends_with("--- exit 0\n"));
}

#[test]
fn a_wait_goes_on_when_it_is_over() {
    let desk = desk();
    let text = std::fs::read_to_string(desk.path("world.toml")).unwrap();
    let backoff =
        "[backoff]\ninitial = \"1s\"\nmax = \"1s\"\nreset_margin = \"1s\"\nwait_max = \"2s\"\n";
    desk.write(
        "world.toml",
        &text.replace("[switch]", &format!("{backoff}[switch]")),
    );
    desk.write("world/enabled", "off");
    let switch = desk.path("world/enabled");
    let waiting = std::thread::spawn(move || {
        std::thread::sleep(std::time::Duration::from_millis(1500));
        std::fs::write(switch, "on")
    });
    let run = desk.say("run world.toml --wait");
    assert!(waiting.join().is_ok_and(|written| written.is_ok()));
    assert!(run.contains("held        off: the switch is off"), "{run}");
    assert!(run.contains("complete    4 of 4 slots scored"), "{run}");
}

#[test]
fn a_budget_of_the_study_that_is_spent_ends_it() {
    let desk = desk();
    let budget = "[[budgets]]\ncounts = \"cost\"\nper = \"study\"\nmax = \"2 USD\"\nreserve = \"1 USD\"\nunknown = \"hold\"\n";
    let text = std::fs::read_to_string(desk.path("world.toml")).unwrap();
    let text = text.replace(
        "error_stop = \"observed.error\"",
        "cost = \"observed.cost\"",
    );
    desk.write(
        "world.toml",
        &text.replace("[switch]", &format!("{budget}[switch]")),
    );
    // Each run costs 1, but for one that does not say it.
    for run in ["a-t1", "a-t2", "b-t2"] {
        desk.write(&format!("world/says-{run}"), "{\"cost\": 1.0}");
    }
    let lines = [
        "run world.toml --quiet",
        "status",
        "cost 3 1 USD",
        "cost 4 1 USD",
        "cost 4 2 USD",
        "cost 1 one",
        "run world.toml --quiet",
        "run world.toml --quiet",
        "verify world.prereg.db",
    ];
    transcript!("operator__budget", desk.say_all(&lines));
}

#[test]
fn what_is_no_regular_file_is_refused_and_nobody_waits() {
    let desk = desk();
    desk.say("register world.toml");
    let pipe = std::process::Command::new("mkfifo")
        .arg(desk.path("pipe"))
        .status();
    assert!(pipe.is_ok_and(|status| status.success()));
    for (line, exit) in [
        ("verify pipe", 1),
        ("status pipe", 1),
        ("show 1 --db pipe", 1),
        ("export pipe", 1),
        ("breaker open --db pipe", 1),
        ("register world.toml --db pipe", 1),
        ("verify world", 1),
        ("status world", 1),
        ("rehearse world.toml pipe", 3),
        ("rehearse world.toml world", 3),
    ] {
        let said = desk.say(line);
        assert!(said.contains("[not-file]"), "{said}");
        assert!(said.ends_with(&format!("--- exit {exit}\n")), "{said}");
        assert!(!desk.path("pipe-lock").exists(), "{line}");
    }
}

#[test]
fn a_file_that_is_no_record_is_not_made_one() {
    let desk = desk();
    for text in ["\n", "SQLite format 3\0", &"x".repeat(511)] {
        desk.write("study.db", text);
        for line in [
            "register world.toml --db study.db",
            "run world.toml --db study.db",
            "switch off --db study.db",
            "status study.db",
        ] {
            let said = desk.say(line);
            assert!(said.contains("fault[not-a-record]"), "{text:?}: {said}");
            assert!(said.ends_with("--- exit 1\n"), "{said}");
        }
        let left = std::fs::read_to_string(desk.path("study.db"));
        assert!(left.is_ok_and(|left| left == text), "{text:?}");
    }
    desk.write("study.db", "");
    assert!(
        desk.say("status study.db")
            .contains("fault[record-not-found]")
    );
    assert_eq!(desk.json("register world.toml --db study.db")["new"], true);
}

#[test]
fn a_record_without_entries_diverges_from_nothing() {
    let desk = desk();
    let made = prereg::store::Store::create(&desk.path("study.db"), || prereg::units::Time(0));
    assert!(made.is_ok());
    let said = desk.json("verify study.db");
    assert_eq!(
        said,
        json!({ "verified": true, "state": "empty", "entries": 0 })
    );
    assert!(desk.say("verify study.db").ends_with("--- exit 0\n"));
    desk.say("register world.toml --db study.db");
    let said = desk.json("verify study.db");
    assert_eq!(said["entries"], said["head"]["seq"]);
}

#[test]
fn words_that_say_nothing_are_slips() {
    let desk = desk();
    desk.say("register paired.toml");
    let before = desk.json("status")["head"].clone();
    for arguments in [
        &["void", "1", "--reason", ""][..],
        &["void", "1", "--reason", " \t"],
        &["checkpoint", "1", "failed", "--reason", ""],
        &["deviate", "--note", ""],
        &["deviate", "--note", "n", "--key", ""],
        &["deviate", "--note", "n", "--actor", ""],
        &["start", "t1", "baseline", "--ref", ""],
        &["status", "--unblind", "--actor", ""],
        &["register", "paired.toml", "--actor", ""],
        &["run", "paired.toml", "--actor", ""],
        &["finish", "1", "--signal", "0"],
        &["finish", "1", "--signal", "128"],
        &["finish", "1", "--exit"],
    ] {
        let said = desk.words(arguments);
        assert!(said.ends_with("--- exit 2\n"), "{said}");
    }
    let said = desk.words(&["deviate", "--note", ""]);
    assert!(said.contains("it is empty; write something"), "{said}");
    // What ended a run is told as it was told by the system.
    for arguments in ["finish 1 --exit -1", "finish 1 --signal 9"] {
        let said = desk.say(arguments);
        assert!(said.contains("refused[unknown-run]"), "{said}");
    }
    let after = desk.json("status")["head"]["seq"].clone();
    assert_eq!(
        after.as_u64().map(|after| after - 2),
        before["seq"].as_u64(),
        "two refusals, and nothing else"
    );
}

#[test]
fn an_outcome_is_taken_from_what_the_arm_printed() {
    let desk = desk();
    let text = std::fs::read_to_string(desk.path("world.toml")).unwrap();
    let outcome = "[[outcomes]]\nid = \"seen\"\nkind = \"number\"\nvalue = \"observed.seen\"\nbetter = \"higher\"\nmissing = \"available\"\n";
    desk.write(
        "world.toml",
        &text.replace("[analysis]\n", &format!("{outcome}[analysis]\n")),
    );
    for (run, seen) in [("a-t1", "1"), ("a-t2", "2"), ("b-t1", "2.5")] {
        desk.write(
            &format!("world/says-{run}"),
            &format!("{{\"error\": false, \"seen\": {seen}}}"),
        );
    }
    let said = desk.json("run world.toml");
    let arms = said["tally"]["outcomes"][1]["arms"].as_array().unwrap();
    let found: Vec<_> = arms
        .iter()
        .map(|arm| (arm["known"].clone(), arm["mean"].clone()))
        .collect();
    assert_eq!(
        found,
        [(json!(2), json!(1.5)), (json!(1), json!(2.5))],
        "{said}"
    );
    assert!(desk.say("verify world.prereg.db").ends_with("--- exit 0\n"));
}

/// An agent that does nothing, and says what one says.
const AGENT: &str = r#"#!/bin/sh
[ "$1" = --version ] && { echo 2.1.0; exit 0; }
echo '{"subtype": "success", "total_cost_usd": 0.5, "quota": {"seven_day": 0.1, "five_hour": 0.2, "status": "allowed"}}'
"#;

#[test]
fn the_studies_that_ship_are_executed_to_their_end() {
    let desk = Desk::new();
    desk.program("claude", AGENT);
    let cells = desk.json("run matrix-attempts.toml");
    assert_eq!(cells["state"], "complete", "{cells}");
    assert_eq!(cells["tally"]["scored"], 10);
    let text = std::fs::read_to_string(desk.path("block-stages.toml")).unwrap();
    desk.write(
        "block-stages.toml",
        &text.replace("2026-12-24", "2126-12-24"),
    );
    let held = desk.json("run block-stages.toml");
    assert_eq!(
        held["code"], "at-stop",
        "what is left of the quota is not known: {held}"
    );
    let launch =
        "reading add launch {\"seven_day\":0.2,\"status\":\"allowed\"} --db block-stages.prereg.db";
    assert!(desk.say(launch).ends_with("--- exit 0\n"));
    let stages = desk.json("run block-stages.toml");
    assert_eq!(stages["state"], "complete", "{stages}");
    assert_eq!(stages["tally"]["scored"], 80);
    // Each run cost half a dollar, as it said.
    let cost = &stages["tally"]["outcomes"][1]["arms"][0];
    assert_eq!(
        (&cost["known"], &cost["mean"]),
        (&json!(40), &json!(500_000.0))
    );
    for record in ["matrix-attempts.prereg.db", "block-stages.prereg.db"] {
        let said = desk.say(&format!("verify {record}"));
        assert!(said.ends_with("--- exit 0\n"), "{said}");
    }
}
