//! Real processes. Limits are far apart, so that a slow machine only makes these slower.

use super::*;
use rustix::event::{PollFd, PollFlags, poll};
use sha2::{Digest, Sha256};
use std::path::PathBuf;
use std::process::Command;
use tempfile::TempDir;

const LONG: Duration = Duration::from_secs(60);
const SHORT: Duration = Duration::from_millis(200);

/// One command with its place on disk. Fields are what a test varies.
struct Bench {
    dir: TempDir,
    env: BTreeMap<OsString, OsString>,
    timeout: Duration,
    grace: Duration,
    output_max: u64,
}

fn execute_silent(job: &Job<'_>, interrupt: &Interrupt) -> Result<Ended, SpawnFault> {
    execute(job, interrupt, drop)
}

impl Bench {
    fn new() -> Self {
        let env = BTreeMap::from([("PATH".into(), "/usr/local/bin:/usr/bin:/bin".into())]);
        let dir = TempDir::new().unwrap();
        Self {
            dir,
            env,
            timeout: LONG,
            grace: LONG,
            output_max: 1 << 20,
        }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    fn with<T>(&self, command: &[&str], f: impl FnOnce(&Job<'_>) -> T) -> T {
        let command: Vec<String> = command.iter().map(|word| (*word).to_owned()).collect();
        f(&Job {
            command: &command,
            base: self.dir.path(),
            dir: self.dir.path(),
            env: &self.env,
            timeout: self.timeout,
            grace: self.grace,
            output_max: self.output_max,
            stdout: &self.path("out"),
            stderr: &self.path("err"),
        })
    }

    fn execute(&self, command: &[&str]) -> Result<Ended, SpawnFault> {
        self.with(command, |job| {
            execute_silent(job, &Interrupt::new().unwrap())
        })
    }

    fn shell(&self, script: &str) -> Ended {
        self.execute(&["sh", "-c", script]).unwrap()
    }

    fn write_script(&self, name: &str, text: &str, mode: u32) {
        use std::os::unix::fs::PermissionsExt;
        std::fs::write(self.path(name), text).unwrap();
        std::fs::set_permissions(self.path(name), std::fs::Permissions::from_mode(mode)).unwrap();
    }
}

fn sha256(bytes: &[u8]) -> [u8; 32] {
    Sha256::digest(bytes).into()
}

/// Waits until a process is dead. Reading its state is fine in a test: it only ever ends.
fn await_death(pid: &str) {
    for _ in 0..3000 {
        let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        if stat.is_empty() || stat.contains(") Z ") || stat.contains(") X ") {
            return;
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    panic!("process {pid} is alive");
}

#[test]
fn an_exit_code_is_told_exactly() {
    for code in [0, 1, 7, 127, 255] {
        let ended = Bench::new().shell(&format!("exit {code}"));
        assert_eq!((ended.exit, ended.signal), (Some(code), None));
        assert!(!ended.timed_out && !ended.interrupted && !ended.leaked);
        assert!(ended.capture_fault.is_none() && ended.wall_us > 0);
    }
}

#[test]
fn a_signal_is_no_exit_code() {
    let ended = Bench::new().shell("kill -9 $$");
    assert_eq!(
        (ended.exit, ended.signal, ended.timed_out),
        (None, Some(9), false)
    );
}

#[test]
fn each_failure_to_start_says_its_own_sentence() {
    let bench = Bench::new();
    bench.write_script("plain", "#!/bin/sh\n", 0o644);
    bench.write_script("lost", "#!/no/such/interpreter\n", 0o755);
    bench.write_script("text", "no program\n", 0o755);
    let cases: [(&[&str], &str, &str); 6] = [
        (&[], "command-empty", "the command is empty"),
        (
            &["no-such-program"],
            "program-not-on-path",
            "`no-such-program` was not found on PATH",
        ),
        (
            &["./absent"],
            "program-missing",
            "`./absent` does not exist",
        ),
        (
            &["./plain"],
            "program-not-executable",
            "`./plain` may not be executed",
        ),
        (
            &["./lost"],
            "interpreter-missing",
            "`./lost` needs an interpreter",
        ),
        (
            &["./text"],
            "spawn-refused",
            "`./text` could not be started: Exec format error",
        ),
    ];
    for (command, code, sentence) in cases {
        let fault = bench.execute(command).unwrap_err();
        assert_eq!(fault.code(), code);
        assert!(fault.to_string().starts_with(sentence), "{fault}");
    }
    let gone = bench.path("gone");
    let fault = bench.with(&["true"], |job| {
        execute_silent(&Job { dir: &gone, ..*job }, &Interrupt::new().unwrap()).unwrap_err()
    });
    assert_eq!(fault.code(), "directory-missing");
}

#[test]
fn a_program_with_a_slash_is_found_from_the_base_and_others_on_the_given_path() {
    let mut bench = Bench::new();
    bench.write_script("tool", "#!/bin/sh\necho \"$0 $#\"\n", 0o755);
    std::fs::create_dir(bench.path("work")).unwrap();
    let work = bench.path("work");
    let ended = bench.with(&["./tool", "a b", ""], |job| {
        execute_silent(&Job { dir: &work, ..*job }, &Interrupt::new().unwrap()).unwrap()
    });
    assert_eq!(ended.exit, Some(0));
    let said = std::fs::read_to_string(bench.path("out")).unwrap();
    assert_eq!(said, format!("{} 2\n", bench.path("tool").display()));
    // An entry that is not absolute is the arm's to fill.
    bench.env.insert("PATH".into(), ".".into());
    assert_eq!(
        bench.execute(&["tool"]).unwrap_err().code(),
        "program-not-on-path"
    );
    bench.env.insert("PATH".into(), bench.dir.path().into());
    std::fs::remove_file(bench.path("out")).unwrap();
    assert_eq!(bench.execute(&["tool"]).unwrap().exit, Some(0));
}

#[test]
fn the_environment_is_the_given_one_and_the_command_leads_its_group() {
    let mut bench = Bench::new();
    bench.env.insert("KEY".into(), "value".into());
    assert_eq!(bench.execute(&["env"]).unwrap().exit, Some(0));
    let said = std::fs::read_to_string(bench.path("out")).unwrap();
    assert_eq!(said, "KEY=value\nPATH=/usr/local/bin:/usr/bin:/bin\n");
    let ended = bench.shell("test \"$(ps -o pgid= -p $$ | tr -d ' ')\" = $$ && ! read x");
    assert_eq!(ended.exit, Some(0));
}

#[test]
fn a_trap_for_term_is_honoured_within_the_grace() {
    let bench = Bench {
        timeout: SHORT,
        ..Bench::new()
    };
    let ended = bench.shell("trap 'exit 3' TERM; while :; do sleep 0.05; done");
    assert_eq!(
        (ended.exit, ended.timed_out, ended.interrupted),
        (Some(3), true, false)
    );
}

#[test]
fn who_ignores_term_is_killed_after_the_grace() {
    let bench = Bench {
        timeout: SHORT,
        grace: SHORT,
        ..Bench::new()
    };
    let ended = bench.shell("trap '' TERM; while :; do sleep 0.05; done");
    assert_eq!(
        (ended.signal, ended.timed_out, ended.leaked),
        (Some(9), true, false)
    );
    assert!(ended.wall_us >= 400_000);
}

#[test]
fn a_stopped_command_is_ended_by_term() {
    let bench = Bench {
        timeout: SHORT,
        ..Bench::new()
    };
    let ended = bench.shell("kill -STOP $$");
    assert_eq!((ended.signal, ended.timed_out), (Some(15), true));
}

#[test]
fn what_the_leader_leaves_in_its_group_is_killed() {
    let bench = Bench::new();
    let ended = bench.shell("sleep 300 & echo $!");
    assert_eq!((ended.exit, ended.leaked), (Some(0), false));
    await_death(std::fs::read_to_string(bench.path("out")).unwrap().trim());
}

#[test]
fn a_grandchild_does_not_survive_the_time_limit() {
    let bench = Bench {
        timeout: SHORT,
        grace: SHORT,
        ..Bench::new()
    };
    let ended = bench.shell("trap '' TERM; sleep 300 & echo $!; wait; sleep 300");
    assert_eq!((ended.signal, ended.timed_out), (Some(9), true));
    await_death(std::fs::read_to_string(bench.path("out")).unwrap().trim());
}

/// A script that ends as soon as a process outside its group has said so.
fn outside(script: &str) -> String {
    format!("setsid sh -c 'echo out; : >ready; {script}' & until [ -e ready ]; do sleep 0.01; done")
}

#[test]
fn a_process_outside_the_group_that_holds_the_pipe_holds_up_nothing() {
    let bench = Bench::new();
    let ended = bench.shell(&outside("exec sleep 20"));
    assert_eq!((ended.exit, ended.leaked), (Some(0), true));
    assert_eq!(ended.stdout.digest, sha256(b"out\n"));
    // A time-out would show in these.
    assert!(!ended.timed_out && ended.wall_us < 20_000_000);
}

#[test]
fn a_flood_from_outside_the_group_is_given_up() {
    let bench = Bench {
        output_max: 10,
        ..Bench::new()
    };
    let ended = bench.shell(&outside("exec timeout 20 yes"));
    assert_eq!(
        (ended.exit, ended.leaked, ended.stdout.kept),
        (Some(0), true, 10)
    );
}

#[test]
fn a_flood_of_output_does_not_hide_the_time_limit() {
    let bench = Bench {
        timeout: SHORT,
        output_max: 3,
        ..Bench::new()
    };
    let ended = bench.execute(&["yes"]).unwrap();
    assert_eq!((ended.signal, ended.timed_out), (Some(15), true));
    // The beginning, and one byte of the end.
    assert!(
        std::fs::read(bench.path("out"))
            .unwrap()
            .starts_with(b"y\n")
    );
}

#[test]
fn output_beyond_the_limit_is_counted_and_hashed_but_not_kept() {
    let bench = Bench {
        output_max: 1024,
        ..Bench::new()
    };
    let ended = bench.shell("yes 0123456789 | head -c 3000000; echo oops >&2");
    let whole: Vec<u8> = b"0123456789\n"
        .iter()
        .copied()
        .cycle()
        .take(3_000_000)
        .collect();
    let expected = Captured {
        bytes: 3_000_000,
        kept: 1024,
        tail: 512,
        digest: sha256(&whole),
    };
    assert_eq!(ended.stdout, expected);
    let both_ends = [&whole[..512], &whole[whole.len() - 512..]].concat();
    assert_eq!(std::fs::read(bench.path("out")).unwrap(), both_ends);
    assert_eq!(
        ended.stderr,
        Captured {
            bytes: 5,
            kept: 5,
            tail: 0,
            digest: sha256(b"oops\n")
        }
    );
}

#[test]
fn an_empty_stream_makes_no_file() {
    let bench = Bench {
        output_max: 0,
        ..Bench::new()
    };
    let ended = bench.shell("echo loud >&2");
    assert_eq!(
        ended.stdout,
        Captured {
            bytes: 0,
            kept: 0,
            tail: 0,
            digest: sha256(b"")
        }
    );
    assert_eq!(
        ended.stderr,
        Captured {
            bytes: 5,
            kept: 0,
            tail: 0,
            digest: sha256(b"loud\n")
        }
    );
    assert!(!bench.path("out").exists() && !bench.path("err").exists());
}

#[test]
fn output_that_cannot_be_kept_is_a_fault_beside_the_end() {
    let bench = Bench::new();
    std::fs::write(bench.path("out"), "evidence").unwrap();
    let ended = bench.shell("echo new; exit 4");
    assert_eq!(
        (ended.exit, ended.stdout.kept, ended.stdout.bytes),
        (Some(4), 0, 4)
    );
    assert_eq!(ended.stdout.digest, sha256(b"new\n"));
    let fault = ended.capture_fault.unwrap();
    assert_eq!(
        (fault.code(), &fault.path),
        ("output-not-kept", &bench.path("out"))
    );
    assert_eq!(std::fs::read(bench.path("out")).unwrap(), b"evidence");
}

#[test]
fn who_steals_its_own_output_blocks_nobody() {
    let bench = Bench {
        timeout: Duration::from_secs(1),
        ..Bench::new()
    };
    let ended = bench.shell("timeout 20 cat /proc/self/fd/1 >/dev/null & while :; do echo x; done");
    assert_eq!((ended.signal, ended.timed_out), (Some(15), true));
}

#[test]
fn one_interrupt_ends_all_and_those_that_come_later() {
    let interrupt = Interrupt::new().unwrap();
    let run = || {
        let bench = Bench::new();
        bench.with(&["sleep", "300"], |job| {
            execute_silent(job, &interrupt).unwrap()
        })
    };
    let check = |ended: Ended| {
        assert_eq!(
            (ended.signal, ended.interrupted, ended.timed_out),
            (Some(15), true, false)
        );
    };
    std::thread::scope(|scope| {
        let both = [scope.spawn(run), scope.spawn(run)];
        std::thread::sleep(SHORT);
        interrupt.clone().fire().unwrap();
        interrupt.fire().unwrap();
        both.into_iter()
            .for_each(|thread| check(thread.join().unwrap()));
    });
    check(run());
}

#[test]
#[cfg(target_os = "linux")]
fn processor_time_includes_children_that_were_waited_for() {
    let bench = Bench {
        timeout: Duration::from_secs(2),
        ..Bench::new()
    };
    let busy = bench.shell("sh -c 'i=0; while [ $i -lt 300000 ]; do i=$((i+1)); done'; true");
    assert!(busy.usage.cpu_ms().unwrap() >= 20, "{busy:?}");
    let idle = bench.execute(&["sleep", "0.3"]).unwrap();
    assert!(idle.usage.cpu_ms().unwrap() < 200, "{idle:?}");
}

#[test]
fn the_thread_that_stands_in_for_a_pidfd_sees_the_end() {
    let mut child = Command::new("sleep").arg("0.1").spawn().unwrap();
    let fd = group::watch_by_thread(rustix::process::Pid::from_child(&child)).unwrap();
    poll(&mut [PollFd::new(&fd, PollFlags::IN)], None).unwrap();
    // Left a zombie: the status is still there.
    assert!(child.try_wait().unwrap().unwrap().success());
}

#[test]
#[cfg(target_os = "linux")]
fn an_orphan_is_ended_only_when_it_is_provably_ours() {
    use std::os::unix::process::CommandExt;
    let mut child = Command::new("sh")
        .args(["-c", "sleep 300 & wait"])
        .process_group(0)
        .spawn()
        .unwrap();
    let ours = ProcessIdentity::of(rustix::process::Pid::from_child(&child));
    let later = ours.start_ticks.map(|ticks| ticks + 1);
    let spared = [
        (
            ProcessIdentity {
                start_ticks: later,
                ..ours.clone()
            },
            Orphan::Stranger,
        ),
        (
            ProcessIdentity {
                start_ticks: None,
                ..ours.clone()
            },
            Orphan::Unproven,
        ),
        (
            ProcessIdentity {
                boot_id: None,
                ..ours.clone()
            },
            Orphan::Unproven,
        ),
        (
            ProcessIdentity {
                boot_id: Some("x".to_owned()),
                ..ours.clone()
            },
            Orphan::Gone,
        ),
        (
            ProcessIdentity {
                pid: 0,
                ..ours.clone()
            },
            Orphan::Unproven,
        ),
        (
            ProcessIdentity {
                pid: 1,
                ..ours.clone()
            },
            Orphan::Unproven,
        ),
        (
            ProcessIdentity {
                pid: u32::MAX,
                ..ours.clone()
            },
            Orphan::Unproven,
        ),
    ];
    for (identity, expected) in spared {
        assert_eq!(end_orphan(&identity), expected, "{identity:?}");
        assert!(child.try_wait().unwrap().is_none());
    }
    assert_eq!(end_orphan(&ours), Orphan::Ended);
    assert_eq!(end_orphan(&ours), Orphan::Gone);
    assert!(!child.wait().unwrap().success());
    assert_eq!(end_orphan(&ours), Orphan::Gone);
}

#[test]
fn the_announced_identity_is_the_commands_own() {
    let bench = Bench::new();
    let mut told = None;
    let ended = bench.with(&["sh", "-c", "echo $$"], |job| {
        execute(job, &Interrupt::new().unwrap(), |identity| {
            told = Some(identity)
        })
    });
    assert_eq!(ended.unwrap().exit, Some(0));
    let told = told.unwrap();
    assert_eq!(
        std::fs::read_to_string(bench.path("out")).unwrap(),
        format!("{}\n", told.pid)
    );
    assert_eq!(told.start_ticks.is_some(), cfg!(target_os = "linux"));
}

#[test]
fn a_panic_in_the_announcement_leaves_nothing_running() {
    let bench = Bench::new();
    let mut pid = 0;
    let panicked = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        bench.with(&["sleep", "300"], |job| {
            let _ = execute(job, &Interrupt::new().unwrap(), |identity| {
                pid = identity.pid;
                panic!("on purpose");
            });
        });
    }));
    assert!(panicked.is_err());
    assert!(!Path::new(&format!("/proc/{pid}")).exists());
}
