//! Limits on what a run uses, and what its supervisor uses itself.

use std::fs;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::common::wait_until;
use super::hold::{Hold, tiers};

/// Returns the best tier whose control groups can set a limit, if there is one.
fn with_limit(limit: &str, value: Value, script: &str) -> Option<Hold> {
    let tier = tiers().into_iter().next().unwrap();
    let mut trial = Hold::new(&tier, "exit 0");
    trial.order["limits"][limit] = value.clone();
    let held = trial.begin();
    drop(held.supervisor.wait_with_output().unwrap());
    let receipt: Value = serde_json::from_str(&trial.text("runs/1.receipt")).unwrap();
    if receipt["became"]["ended"]["exit"] != 0 {
        println!("not covered: the limit {limit}: {receipt}");
        return None;
    }
    let mut hold = Hold::new(&tier, script);
    hold.order["limits"][limit] = value;
    Some(hold)
}

#[test]
fn memory_beyond_the_limit_is_not_had_and_that_is_said() {
    let script = "head -c 300000000 /dev/zero | tail -c 250000000 | wc -c";
    let Some(hold) = with_limit("memory", json!(50 << 20), script) else {
        return;
    };
    let ended = hold.execute();
    assert_eq!(ended["was_short_of_memory"], true, "{ended}");
}

#[test]
fn processes_beyond_the_limit_are_not_had() {
    let script = "i=0; while [ $i -lt 60 ]; do sleep 5 & i=$((i + 1)); done; exit 0";
    let Some(hold) = with_limit("processes", json!(20), script) else {
        return;
    };
    let ended = hold.execute();
    assert_ne!(ended["exit"], 0, "{ended}");
    assert!(hold.text("runs/1.stderr").contains("fork"), "{ended}");
}

#[test]
fn processor_time_beyond_the_limit_ends_a_run() {
    let Some(hold) = with_limit(
        "cpu_us",
        json!(300_000),
        "(while :; do :; done) & while :; do :; done",
    ) else {
        return;
    };
    let began = Instant::now();
    let ended = hold.execute();
    assert_eq!(
        (&ended["over_limit"], &ended["timed_out"]),
        (&true.into(), &false.into())
    );
    let used =
        ended["usage"]["user_us"].as_u64().unwrap() + ended["usage"]["system_us"].as_u64().unwrap();
    assert!((200_000..1_500_000).contains(&used), "{ended}");
    assert!(began.elapsed() < Duration::from_secs(30), "{ended}");
}

fn status_of(pid: u32, name: &str) -> u64 {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix(name));
    line.unwrap()
        .trim_start_matches(':')
        .trim()
        .trim_end_matches(" kB")
        .parse()
        .unwrap()
}

/// While a run sleeps nothing wakes up, and a supervisor is small, also under a flood.
#[test]
fn a_supervisor_is_small_and_sleeps() {
    for tier in tiers() {
        let hold = Hold::new(
            &tier,
            "echo on > on; sleep 1.5; head -c 30000000 /dev/zero; echo >&2; sleep 3",
        );
        let held = hold.begin();
        wait_until("it never began", || !hold.text("runs/1/on").is_empty());
        let pid = held.supervisor.id();
        std::thread::sleep(Duration::from_millis(200));
        let woken = || status_of(pid, "voluntary_ctxt_switches");
        let before = woken();
        std::thread::sleep(Duration::from_millis(700));
        assert_eq!(woken(), before, "{tier}");
        let kept = || fs::metadata(hold.path("runs/1.stderr")).is_ok();
        wait_until("the flood never ended", kept);
        let (peak, own) = (status_of(pid, "VmHWM"), status_of(pid, "RssAnon"));
        let ended = hold.end(held);
        assert_eq!(ended["stdout"]["bytes"], 30_000_000, "{ended}");
        assert_eq!(ended["stdout"]["kept"], 65536, "{ended}");
        // What is mapped of the program's file is large where it is not optimised, and shared.
        println!("{tier}: {own} kB of its own, {peak} kB at most");
        assert!(own < 8 * 1024, "{tier}: {own} kB");
    }
}
