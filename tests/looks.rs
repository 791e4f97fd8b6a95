//! What looks at the world is believed: at the registration, before a start by hand, and at its end.

mod desk;

use desk::Desk;

/// A desk with the study that looks at everything, some texts of its protocol replaced.
fn desk(replaced: &[(&str, &str)]) -> Desk {
    let desk = Desk::new();
    desk.lay("operator");
    let mut text = std::fs::read_to_string(desk.path("world.toml")).unwrap_or_default();
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
