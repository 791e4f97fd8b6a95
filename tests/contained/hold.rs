//! One command under a supervisor that is driven by hand, without an engine.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};
use tempfile::TempDir;

/// Returns the tiers that this machine has, and says which it has not.
pub(crate) fn tiers() -> Vec<String> {
    let mut doctor = Command::new(env!("CARGO_BIN_EXE_prereg"));
    let said = doctor.args(["doctor", "--json"]).output().unwrap();
    let said: Value = serde_json::from_slice(&said.stdout).unwrap();
    let mut works = Vec::new();
    for tier in said["tiers"].as_array().unwrap() {
        let name = tier["tier"].as_str().unwrap();
        match tier["works"].as_bool().unwrap() {
            true => works.push(name.to_owned()),
            false => println!("not covered: tier {name}: {}", tier["why"]),
        }
    }
    assert!(works.contains(&"pgroup".to_owned()), "{said}");
    works
}

/// What is executed, and where.
pub(crate) struct Hold {
    pub(crate) folder: TempDir,
    pub(crate) tier: String,
    pub(crate) order: Value,
}

/// A supervisor at work.
pub(crate) struct Held {
    pub(crate) supervisor: Child,
    pub(crate) began: Instant,
    _orders: ChildStdin,
}

fn os(path: &Path) -> Value {
    json!(path)
}

impl Hold {
    /// A script in a tier, in a workspace of its own beside another run's.
    pub(crate) fn new(tier: &str, script: &str) -> Self {
        let folder = TempDir::new().unwrap();
        let at = |name: &str| folder.path().join(name);
        for name in ["runs/1", "runs/2"] {
            fs::create_dir_all(at(name)).unwrap();
        }
        fs::write(at("runs/2/secret"), "another run").unwrap();
        fs::write(at("record"), "the record").unwrap();
        let name = folder.path().file_name().unwrap().to_str().unwrap();
        let name = format!("prereg-test-{}", name.trim_start_matches('.'));
        let order = json!({
            "command": ["/bin/sh", "-c", script],
            "base": os(folder.path()),
            "dir": os(&at("runs/1")),
            "env": { "PATH": os(Path::new("/usr/local/bin:/usr/bin:/bin")), "GIVEN": os(Path::new("this")) },
            "timeout_us": 60_000_000,
            "grace_us": 200_000,
            "output_max": 65536,
            "stdout": os(&at("runs/1.stdout")),
            "stderr": os(&at("runs/1.stderr")),
            "receipt": os(&at("runs/1.receipt")),
            "cancel": os(&at("runs/1.cancel")),
            "tier": tier,
            "cgroup": home().filter(|_| tier.ends_with("cgroup")).map(|home| os(&home.join(&name))),
            "outlives": true,
            "hidden": { "runs": os(&at("runs")), "others": [os(&at("record"))] },
            "limits": { "name": name, "memory": null, "processes": null, "cpu_us": null },
        });
        Self {
            folder,
            tier: tier.to_owned(),
            order,
        }
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub(crate) fn text(&self, name: &str) -> String {
        fs::read_to_string(self.path(name)).unwrap_or_default()
    }

    pub(crate) fn begin(&self) -> Held {
        let mut command = Command::new(env!("CARGO_BIN_EXE_prereg"));
        command.arg("__supervise");
        self.begin_by(command)
    }

    pub(crate) fn begin_by(&self, mut command: Command) -> Held {
        command.stdin(Stdio::piped()).stdout(Stdio::null());
        let mut supervisor = command.spawn().unwrap();
        let mut orders = supervisor.stdin.take().unwrap();
        writeln!(orders, "{}", self.order).unwrap();
        Held {
            supervisor,
            began: Instant::now(),
            _orders: orders,
        }
    }

    pub(crate) fn cancel(&self, held: &Held) {
        fs::write(self.path("runs/1.cancel"), "").unwrap();
        kill_process(Pid::from_child(&held.supervisor), Signal::TERM).unwrap();
    }

    /// Waits for the supervisor; returns how the command ended, as its receipt says.
    pub(crate) fn end(&self, mut held: Held) -> Value {
        let status = held.supervisor.wait().unwrap();
        assert_eq!(status.code(), Some(0), "{}", self.tier);
        let receipt: Value = serde_json::from_str(&self.text("runs/1.receipt")).unwrap();
        assert_eq!(receipt["tier"], self.tier);
        assert!(!receipt["became"]["ended"].is_null(), "{receipt}");
        receipt["became"]["ended"].clone()
    }

    pub(crate) fn execute(&self) -> Value {
        self.end(self.begin())
    }

    /// Asserts that nobody writes to a file any more, and no control group is left.
    pub(crate) fn assert_silent(&self, file: &str, story: &str) {
        let length = |path: &Path| fs::metadata(path).map_or(0, |found| found.len());
        let before = length(&self.path(file));
        std::thread::sleep(Duration::from_millis(250));
        assert_eq!(
            length(&self.path(file)),
            before,
            "{story}: somebody is left"
        );
        let group = self.order["cgroup"]["Unix"].as_array().map(|bytes| {
            let bytes: Vec<u8> = bytes
                .iter()
                .map(|byte| byte.as_u64().unwrap() as u8)
                .collect();
            PathBuf::from(String::from_utf8(bytes).unwrap())
        });
        assert!(
            group.is_none_or(|group| !group.exists()),
            "{story}: a group is left"
        );
    }
}

/// Returns the unified control group of this process.
fn home() -> Option<PathBuf> {
    let mounts = fs::read_to_string("/proc/self/mounts").ok()?;
    let mut mounts = mounts
        .lines()
        .map(|line| line.split(' ').collect::<Vec<_>>());
    let mount = mounts.find(|fields| fields.get(2) == Some(&"cgroup2"))?;
    let own = fs::read_to_string("/proc/self/cgroup").ok()?;
    let own = own.lines().find_map(|line| line.strip_prefix("0::/"))?;
    Some(Path::new(mount[1]).join(own))
}
