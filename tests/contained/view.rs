//! What an arm sees of the machine, and what it can reach.

use std::process::Command;

use serde_json::Value;

use super::hold::{Hold, tiers};

/// An arm that says what it was given.
const MIRROR: &str = "ls /proc/self/fd | wc -l; grep -E 'Sig(Blk|Ign)' /proc/self/status; env; cut -d' ' -f6 /proc/self/stat";

/// Answers the session that this process is of, as `/proc` writes it: 0 when its leader is in an outer
/// name space, which is no number of a process.
fn own_session() -> String {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap();
    let (_, fields) = stat.rsplit_once(')').unwrap();
    fields.split_whitespace().nth(3).unwrap().to_owned()
}

/// Whatever whoever starts a session ignores or has open, an arm has the three descriptors, every signal
/// as the system has it, and the variables that it was given.
#[test]
fn an_arm_is_given_what_is_registered_and_nothing_else() {
    for tier in tiers() {
        let hold = Hold::new(&tier, MIRROR);
        let mut careless = Command::new("sh");
        let script = "trap '' HUP INT TERM USR1; exec \"$0\" __supervise 7</dev/null 8>/dev/null";
        careless.args(["-c", script, env!("CARGO_BIN_EXE_prereg")]);
        careless.env("KEPT", "not for arms");
        let ended = hold.end(hold.begin_by(careless));
        assert_eq!(ended["exit"], 0, "{ended}");
        let said = hold.text("runs/1.stdout");
        let mut lines = said.lines();
        // Three, and that of the folder itself.
        assert_eq!(lines.next(), Some("4"), "{tier}: {said}");
        assert_eq!(lines.next(), Some("SigBlk:\t0000000000000000"), "{tier}");
        let ignored = lines.next().unwrap().trim_start_matches("SigIgn:\t");
        let ignored = u64::from_str_radix(ignored, 16).unwrap();
        // The system's own two above are nobody's to give.
        assert_eq!(ignored & 0x7fff_ffff, 0, "{tier}: {said}");
        let rest: Vec<&str> = lines.collect();
        let (session, env) = rest.split_last().unwrap();
        let mut env: Vec<&str> = env
            .iter()
            .filter_map(|line| line.split_once('=').map(|(name, _)| name))
            .collect();
        env.sort_unstable();
        env.retain(|name| !["PWD", "_", "SHLVL", "OLDPWD"].contains(name));
        assert_eq!(env, ["GIVEN", "PATH"], "{tier}: {said}");
        // A session of its own has its leader where the arm is.
        assert_ne!(*session, "0", "{tier}");
        assert_ne!(*session, own_session(), "{tier}");
    }
}

/// In a view of its own an arm reaches neither record nor other runs, and sees no process but its own;
/// what it has in its workspace is what is judged.
#[test]
fn an_arm_with_a_view_of_its_own_reaches_nothing_else() {
    let script = "cat ../../record ../2/secret; echo forged > ../../record; rm -rf ../2; echo mine > kept; echo x > ../1.receipt; ls /proc | grep -c '^[0-9]'";
    for tier in tiers().iter().filter(|tier| tier.starts_with("pidns")) {
        let hold = Hold::new(tier, script);
        let ended = hold.execute();
        assert_eq!(ended["exit"], 0, "{ended}");
        assert_eq!(hold.text("record"), "the record", "{tier}");
        assert_eq!(hold.text("runs/2/secret"), "another run", "{tier}");
        assert_eq!(hold.text("runs/1/kept"), "mine\n", "{tier}");
        let said = hold.text("runs/1.stdout");
        assert!(
            !said.contains("record") && !said.contains("another"),
            "{said}"
        );
        let processes: u32 = said.trim().parse().unwrap();
        assert!(processes < 10, "{tier}: {said}");
    }
}

/// An arm that asks its supervisor to end, or tells it that it was cancelled, is not heard.
#[test]
fn a_signal_alone_ends_nothing() {
    for tier in tiers() {
        let hold = Hold::new(&tier, "kill -TERM $PPID; sleep 0.2; exit 5");
        let ended = hold.execute();
        assert_eq!(
            (&ended["exit"], &ended["interrupted"]),
            (&5.into(), &false.into()),
            "{tier}"
        );
    }
}

/// A command ends with its leader, whoever holds its output; what was said is kept to the last byte.
#[test]
fn an_end_is_not_held_up_by_whoever_holds_the_output() {
    for tier in tiers() {
        let hold = Hold::new(&tier, "(setsid sleep 60 &); sleep 0.5; printf said; exit 7");
        let held = hold.begin();
        let began = held.began;
        let ended = hold.end(held);
        assert!(began.elapsed().as_secs() < 10, "{tier}");
        assert_eq!(
            (&ended["exit"], &ended["stdout"]["bytes"]),
            (&7.into(), &4.into()),
            "{tier}"
        );
        assert_eq!(hold.text("runs/1.stdout"), "said");
        assert_eq!(ended["leaked"], Value::from(tier == "pgroup"));
    }
}
