//! A command that does nothing, executed to see whether a tier works.

use std::fs;
use std::path::Path;

use tempfile::TempDir;

use super::engine::{Outcome, Traces};
use super::order::{Before, Hidden, Limits, Order};
use super::spare::Supervisors;
use super::tier::Tiers;
use crate::runner::process::Interrupt;

/// A folder for a command that does nothing.
pub(super) struct Trial {
    folder: TempDir,
}

impl Trial {
    pub(super) fn new() -> Result<Self, String> {
        let folder = tempfile::Builder::new().prefix("prereg-").tempdir();
        let folder = folder.map_err(|error| error.to_string())?;
        fs::create_dir_all(folder.path().join("runs/trial")).map_err(|error| error.to_string())?;
        Ok(Self { folder })
    }

    /// Executes it in a tier; says why that does not work.
    pub(super) fn execute(
        &self,
        supervisors: &Supervisors,
        tiers: &Tiers,
        limits: Limits,
    ) -> Result<(), String> {
        let runs = self.folder.path().join("runs");
        let traces = Traces::of(&runs, "trial");
        let beside = |name: &str| runs.join(name);
        let unique = self.folder.path().file_name().unwrap_or_default();
        let order = Order {
            command: vec!["/proc/self/exe".to_owned(), "--version".to_owned()],
            base: "/".into(),
            dir: beside("trial").into(),
            env: Default::default(),
            timeout_us: 10_000_000,
            grace_us: 0,
            output_max: 0,
            stdout: beside("stdout").into(),
            stderr: beside("stderr").into(),
            receipt: traces.receipt().into(),
            cancel: traces.cancel().into(),
            tier: tiers.tier,
            cgroup: tiers
                .cgroup(Path::new("trial"), &unique.to_string_lossy())
                .map(Into::into),
            outlives: false,
            hidden: Hidden {
                runs: runs.clone().into(),
                others: Vec::new(),
            },
            limits: Limits {
                name: format!("prereg-{}", unique.to_string_lossy()),
                ..limits
            },
            before: Before::default(),
        };
        let outcome = Interrupt::new().and_then(|never| {
            let given = supervisors.spare(supervisors.ask())?.give(&order, traces)?;
            given.wait(&never, None)
        });
        match outcome {
            Ok(Outcome::Ended(ended, ..)) if ended.exit == Some(0) => Ok(()),
            Ok(Outcome::Ended(..)) => Err("a command that does nothing fails there".to_owned()),
            Ok(Outcome::NotStarted(fault)) => Err(fault.reason()),
            Ok(Outcome::Lost | Outcome::Left) => Err("its supervisor ends".to_owned()),
            Err(error) => Err(error.to_string()),
        }
    }
}
