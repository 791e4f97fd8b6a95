//! What a supervisor is told: one line of JSON on its standard input, for it may hold secrets.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::path::Path;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::os_text::OsText;
use super::tier::Tier;
use crate::runner::process::Job;
use crate::units::{Digest, Time};

/// One command that is to be executed and supervised.
#[derive(Debug, Serialize, Deserialize)]
pub(in crate::runner) struct Order {
    pub(in crate::runner) command: Vec<String>,
    pub(in crate::runner) base: OsText,
    pub(in crate::runner) dir: OsText,
    pub(in crate::runner) env: BTreeMap<String, OsText>,
    pub(in crate::runner) timeout_us: u64,
    pub(in crate::runner) grace_us: u64,
    pub(in crate::runner) output_max: u64,
    pub(in crate::runner) stdout: OsText,
    pub(in crate::runner) stderr: OsText,
    /// Where the receipt is put.
    pub(in crate::runner) receipt: OsText,
    /// The file that says that the command is to be ended.
    pub(in crate::runner) cancel: OsText,
    pub(in crate::runner) tier: Tier,
    /// The control group to make, where the tier has one.
    pub(in crate::runner) cgroup: Option<OsText>,
    /// Whether the command goes on when whoever gave the order has died.
    pub(in crate::runner) outlives: bool,
    pub(in crate::runner) hidden: Hidden,
    pub(in crate::runner) limits: Limits,
    /// What the engine wants to have back with the receipt.
    #[serde(default)]
    pub(in crate::runner) before: Before,
}

/// What stood in the working directory before the start, and when that was; and what is started.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(in crate::runner) struct Before {
    pub(in crate::runner) digest: Option<Digest>,
    pub(in crate::runner) at: Option<Time>,
    /// The digest of the program, where the protocol binds one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(in crate::runner) program: Option<Digest>,
}

/// What a command may use.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(in crate::runner) struct Limits {
    /// How control groups are called that are made for them.
    pub(in crate::runner) name: String,
    pub(in crate::runner) memory: Option<u64>,
    pub(in crate::runner) processes: Option<u64>,
    pub(in crate::runner) cpu_us: Option<u64>,
}

impl Limits {
    pub(super) fn is_none(&self) -> bool {
        self.memory.is_none() && self.processes.is_none() && self.cpu_us.is_none()
    }
}

/// What a command does not see, where the tier has a view of its own.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(in crate::runner) struct Hidden {
    /// The folder of all runs; of what is in it only the working directory is seen.
    pub(in crate::runner) runs: OsText,
    /// Files and folders that are seen empty.
    pub(in crate::runner) others: Vec<OsText>,
}

impl Order {
    /// Gives the order.
    pub(super) fn write(&self, to: &mut impl Write) -> io::Result<()> {
        let mut line = serde_json::to_vec(self)?;
        line.push(b'\n');
        to.write_all(&line)
    }

    /// Reads an order; nothing where none is given.
    pub(super) fn read(from: impl Read) -> Option<Self> {
        let mut line = Vec::new();
        BufReader::new(from).read_until(b'\n', &mut line).ok()?;
        // Half an order is none.
        line.ends_with(b"\n")
            .then(|| serde_json::from_slice(&line).ok())?
    }

    /// Returns the environment as what executes the command takes it.
    pub(super) fn environment(&self) -> BTreeMap<OsString, OsString> {
        let env = self.env.iter();
        env.map(|(name, value)| (name.into(), value.0.clone()))
            .collect()
    }

    /// Returns the command as what executes it takes it.
    pub(super) fn job<'a>(&'a self, env: &'a BTreeMap<OsString, OsString>) -> Job<'a> {
        Job {
            command: &self.command,
            base: self.base.as_path(),
            dir: self.dir.as_path(),
            env,
            timeout: Duration::from_micros(self.timeout_us),
            grace: Duration::from_micros(self.grace_us),
            output_max: self.output_max,
            stdout: self.stdout.as_path(),
            stderr: self.stderr.as_path(),
        }
    }

    #[cfg(target_os = "linux")]
    pub(super) fn cgroup(&self) -> Option<&Path> {
        self.cgroup.as_ref().map(OsText::as_path)
    }

    pub(super) fn receipt(&self) -> &Path {
        self.receipt.as_path()
    }
}
