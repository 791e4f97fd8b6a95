//! Transcripts of every verb: what was asked, what was said where, and how it ended.

#[macro_use]
mod desk;

use std::fs;

use desk::Desk;

#[test]
fn help_of_every_verb() {
    let desk = Desk::new();
    let verbs = [
        "init",
        "check",
        "explain",
        "plan",
        "rehearse",
        "schema",
        "register",
        "run",
        "start",
        "finish",
        "score",
        "breaker",
        "switch",
        "task add",
        "draw append",
        "reading add",
        "checkpoint",
        "cost",
        "void",
        "deviate",
        "cancel",
        "reconcile",
        "doctor",
        "status",
        "show",
        "verify",
        "export",
        "import",
        "claim",
    ];
    let mut lines = vec!["--help".to_owned(), "--version".to_owned()];
    lines.extend(verbs.iter().map(|verb| format!("{verb} --help")));
    let said: Vec<String> = lines.iter().map(|line| desk.say(line)).collect();
    transcript!("cli__help", said.join("\n"));
}

#[test]
fn usage_errors_end_with_2() {
    let desk = Desk::new();
    transcript!(
        "cli__usage",
        desk.say_all(&[
            "",
            "rum",
            "check",
            "status",
            "start a",
            "show x",
            "finish 1",
            "claim done",
            "init minimal.toml",
            "rum --json",
        ])
    );
}

#[test]
fn init_writes_a_protocol_whose_only_defect_is_what_is_not_there_yet() {
    let desk = Desk::new();
    let said = desk.say_all(&["init study.toml", "check study.toml"]);
    fs::write(
        desk.path("tasks.jsonl"),
        "{\"id\": \"one\"}\n{\"id\": \"two\"}\n",
    )
    .unwrap();
    fs::write(desk.path("arm.sh"), "#!/bin/sh\nexit 0\n").unwrap();
    use std::os::unix::fs::PermissionsExt;
    fs::set_permissions(desk.path("arm.sh"), fs::Permissions::from_mode(0o755)).unwrap();
    transcript!(
        "cli__init",
        format!("{said}\n{}", desk.say("check study.toml"))
    );
}

#[test]
fn check_says_what_a_sound_protocol_comes_to() {
    let desk = Desk::new();
    transcript!(
        "cli__check",
        desk.say_all(&[
            "check quickstart.toml",
            "check minimal.toml --json",
            "check nowhere.toml",
            "check nowhere.toml --json"
        ])
    );
}

#[test]
fn explain_says_the_plan_or_the_defects() {
    let desk = Desk::new();
    let text = fs::read_to_string(desk.path("minimal.toml")).unwrap();
    fs::write(
        desk.path("broken.toml"),
        text.replace("timeout = \"5s\"", "timeuot = \"5s\""),
    )
    .unwrap();
    fs::write(
        desk.path("later.toml"),
        format!("{text}\n[evidence]\nrequired = [\"measurement\"]\n"),
    )
    .unwrap();
    transcript!(
        "cli__explain",
        desk.say_all(&[
            "explain broken.toml",
            "explain nowhere.toml --json",
            "explain later.toml --json"
        ])
    );
}

#[test]
fn the_plan_is_printed_in_run_order() {
    let desk = Desk::new();
    let staged = r#"
language = 1
arms = [{ id = "a", command = ["true"] }, { id = "b", command = ["true"] }, { id = "c", command = ["true"] }]
tasks = { frame = "staged.jsonl" }
draw = { method = "ranked", classes = ["^x-([0-9]+)$"] }
outcomes = [{ id = "ok", kind = "binary", value = "run.exit == 0", better = "higher", missing = 0 }]
execution = { timeout = "5s" }
allocation = { arms = "williams", block = "pair", run_seed = "sha256_task_repeat" }
stages = [{ id = "one", repeats = 2 }, { id = "two", repeats = 1, opens = "stages['one'].complete" }]
[study]
id = "staged"
title = "A plan in stages"
question = "In which order?"
hypotheses = []
kind = "confirmatory"
[analysis]
reference = "a"
treatments = ["b", "c"]
multiplicity = { method = "holm" }
primary = { outcome = "ok", estimand = "as_drawn", test = "sign_flip", objective = "superiority" }
[limitations]
"few-tasks" = "two tasks show the order"
"no-control" = "nothing is measured"
"unpinned-command" = "the same program in all arms"
"#;
    fs::write(desk.path("staged.toml"), staged).unwrap();
    fs::write(
        desk.path("staged.jsonl"),
        "{\"id\":\"x-10\"}\n{\"id\":\"x-9\"}\n",
    )
    .unwrap();
    let said = desk.say_all(&[
        "plan minimal.toml",
        "plan staged.toml",
        "plan staged.toml --json",
        "plan staged.toml --pilot",
    ]);
    transcript!("cli__plan", said);
}

#[test]
fn defects_are_collected_and_nothing_is_written() {
    let desk = Desk::new();
    let text = fs::read_to_string(desk.path("minimal.toml")).unwrap();
    let text = text
        .replace("timeout = \"5s\"", "timeuot = \"5s\"")
        .replace("outcome = \"found\"", "outcome = \"fuond\"");
    fs::write(desk.path("broken.toml"), text).unwrap();
    transcript!(
        "cli__defects",
        desk.say_all(&[
            "check broken.toml",
            "register broken.toml",
            "run broken.toml",
            "check broken.toml --json"
        ])
    );
    assert!(!desk.path("minimal.prereg.db").exists());
}

#[test]
fn a_protocol_that_cannot_be_enforced_is_refused() {
    let desk = Desk::new();
    let text = fs::read_to_string(desk.path("minimal.toml")).unwrap();
    fs::write(
        desk.path("later.toml"),
        text.replace("kind = \"confirmatory\"", "kind = \"exploratory\""),
    )
    .unwrap();
    transcript!(
        "cli__not_enforced",
        desk.say_all(&[
            "check later.toml",
            "register later.toml",
            "run later.toml --json"
        ])
    );
    assert!(!desk.path("minimal.prereg.db").exists());
}

#[test]
fn the_main_job() {
    let desk = Desk::new();
    let said = desk.say_all(&[
        "run quickstart.toml --quiet",
        "run quickstart.toml",
        "status quickstart.prereg.db",
        "verify quickstart.prereg.db",
        "export quickstart.prereg.db --to quickstart.export.jsonl",
        "verify quickstart.export.jsonl",
        "export quickstart.prereg.db --to quickstart.export.jsonl",
    ]);
    transcript!("cli__main_job", said);
}

#[test]
fn plain_lines_tell_the_progress_where_there_is_no_terminal() {
    let desk = Desk::new();
    transcript!("cli__progress", desk.say("run minimal.toml"));
}

#[test]
fn registering_again_changes_nothing_and_another_is_refused() {
    let desk = Desk::new();
    let first = desk.say_all(&[
        "register minimal.toml",
        "register minimal.toml",
        "register minimal.toml --json",
    ]);
    let text = fs::read_to_string(desk.path("minimal.toml")).unwrap();
    fs::write(
        desk.path("minimal.toml"),
        format!("# a comment changes nothing\n{text}"),
    )
    .unwrap();
    let comment = desk.say("register minimal.toml");
    fs::write(
        desk.path("minimal.toml"),
        text.replace("repeats = 2", "repeats = 3")
            .replace("\"5s\"", "\"6s\""),
    )
    .unwrap();
    let mut frame = fs::read_to_string(desk.path("minimal/tasks.jsonl")).unwrap();
    frame = frame.replacen("\"id\"", "\"note\": 1, \"id\"", 1);
    fs::write(desk.path("minimal/tasks.jsonl"), frame).unwrap();
    let other = desk.say_all(&[
        "register minimal.toml",
        "run minimal.toml",
        "register minimal.toml --json",
    ]);
    transcript!("cli__register", format!("{first}\n{comment}\n{other}"));
}

#[test]
fn runs_executed_elsewhere_go_step_by_step() {
    let desk = Desk::new();
    let first = fs::read_to_string(desk.path("minimal/tasks.jsonl")).unwrap();
    let first: serde_json::Value = serde_json::from_str(first.lines().next().unwrap()).unwrap();
    let task = first["id"].as_str().unwrap().to_owned();
    let lines = [
        "start T exact".to_owned(),
        "register minimal.toml".to_owned(),
        "start nothing exact".to_owned(),
        "start T neither".to_owned(),
        "start T fold".to_owned(),
        "start T exact --ref https://ci.example/1 --key first".to_owned(),
        "start T exact --ref https://ci.example/1 --key first".to_owned(),
        "start T exact --ref https://ci.example/2 --key first".to_owned(),
        "start T fold".to_owned(),
        "start T fold --json".to_owned(),
        "score 1".to_owned(),
        "finish 1 --exit 1 --wall 95s".to_owned(),
        "finish 1 --exit 0".to_owned(),
        "score 1".to_owned(),
        "score 1".to_owned(),
        "show 1".to_owned(),
        "show 1 --json".to_owned(),
        "show 7".to_owned(),
        "status".to_owned(),
        "export --to sealed.jsonl".to_owned(),
        "verify sealed.jsonl".to_owned(),
        "show 1 --unblind --actor auditor".to_owned(),
        "status --json".to_owned(),
        "verify minimal.prereg.db --json".to_owned(),
    ];
    let lines: Vec<String> = lines
        .iter()
        .map(|line| line.replace(" T ", &format!(" {task} ")))
        .collect();
    let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
    transcript!("cli__elsewhere", desk.say_all(&lines));
}

#[test]
fn a_record_that_does_not_derive_is_named() {
    let desk = Desk::new();
    desk.say_all(&[
        "run minimal.toml --quiet",
        "export minimal.prereg.db --to whole.jsonl",
    ]);
    let whole = fs::read_to_string(desk.path("whole.jsonl")).unwrap();
    fs::write(
        desk.path("edited.jsonl"),
        whole.replacen("\"arm\":\"fold\"", "\"arm\":\"bold\"", 1),
    )
    .unwrap();
    let cut: Vec<&str> = whole.lines().take(9).collect();
    fs::write(desk.path("cut.jsonl"), format!("{}\n", cut.join("\n"))).unwrap();
    fs::write(desk.path("empty.jsonl"), "").unwrap();
    let lines = [
        "verify edited.jsonl",
        "verify cut.jsonl",
        "verify cut.jsonl --json",
        "verify empty.jsonl",
        "verify minimal.toml",
        "verify nowhere.db",
    ];
    transcript!("cli__diverged", desk.say_all(&lines));
}

#[test]
fn a_pilot_comes_before_the_registration() {
    let desk = Desk::new();
    let text = fs::read_to_string(desk.path("minimal.toml")).unwrap();
    fs::write(
        desk.path("minimal.toml"),
        format!("{text}\n[tasks.splits]\nfull = \"confirmatory\"\ntry = \"pilot\"\n").replace(
            "tasks = { frame = \"minimal/tasks.jsonl\" }",
            "tasks.frame = \"minimal/tasks.jsonl\"",
        ),
    )
    .unwrap();
    let frame = fs::read_to_string(desk.path("minimal/tasks.jsonl")).unwrap();
    let lines: Vec<String> = frame
        .lines()
        .enumerate()
        .map(|(i, line)| {
            line.replacen(
                '{',
                if i == 0 {
                    "{\"split\": \"try\", "
                } else {
                    "{\"split\": \"full\", "
                },
                1,
            )
        })
        .collect();
    fs::write(desk.path("minimal/tasks.jsonl"), lines.join("\n")).unwrap();
    let said = desk.say_all(&[
        "run minimal.toml",
        "run minimal.toml --pilot --quiet",
        "show 1",
        "run minimal.toml --register --quiet",
        "run minimal.toml --pilot",
        "verify minimal.prereg.db",
    ]);
    transcript!("cli__pilot", said);
}

#[test]
fn an_arm_claims_with_the_claim_verb() {
    let desk = Desk::new();
    let said = desk.say_all(&[
        "claim done --file claim.json",
        "claim failed --file claim.json --json",
    ]);
    transcript!(
        "cli__claim",
        format!(
            "{said}\n{}",
            fs::read_to_string(desk.path("claim.json")).unwrap()
        )
    );
}

#[test]
fn the_schema_is_a_snapshot() {
    let desk = Desk::new();
    transcript!("cli__schema", desk.say("schema"));
}
