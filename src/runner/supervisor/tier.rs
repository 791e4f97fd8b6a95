//! Which tiers of containment this machine has: each is tried, not guessed at.

use std::path::{Path, PathBuf};
use std::time::Duration;

use super::order::Limits;
use super::spare::Supervisors;
use super::trial::Trial;
use crate::protocol::model::{Containment, Execution};

/// How an arm is held together.
pub type Tier = Containment;

/// Every tier, the best first.
pub const ALL: [Tier; 5] = [
    Tier::PidnsCgroup,
    Tier::Pidns,
    Tier::Cgroup,
    Tier::Subreaper,
    Tier::Pgroup,
];

/// How old the control group of a trial is when nobody needs it any more.
const TRIAL_MAX: Duration = Duration::from_secs(60);

/// What this machine has of the tiers.
#[derive(Clone, Debug)]
pub struct Tiers {
    /// The best tier that works.
    pub tier: Tier,
    /// The folder in which control groups are made, where the tier has them.
    pub cgroups: Option<PathBuf>,
}

/// The machine has no tier as good as the registered one.
#[derive(Debug, thiserror::Error)]
#[error("this machine cannot hold runs together as registered, by containment `{}` at least and with every limit: {why}; `prereg doctor` says what it lacks", word(*.least))]
pub struct Unavailable {
    /// The least tier that may be used.
    pub least: Tier,
    /// Why the least tier does not work.
    pub why: String,
}

impl Tiers {
    /// Finds the best tier of this machine that is at least the given one and can set such limits.
    pub fn best<'a>(
        least: Tier,
        supervisors: &Supervisors,
        executions: impl Iterator<Item = &'a Execution> + Clone,
    ) -> Result<Self, Unavailable> {
        let mut why = "it was not tried".to_owned();
        for tier in ALL.into_iter().filter(|tier| *tier <= least) {
            match Self::with_limits(tier, supervisors, limits_of(executions.clone())) {
                Ok(found) => return Ok(found),
                Err(reason) => why = reason,
            }
        }
        Err(Unavailable { least, why })
    }

    /// Returns where what was executed before stands, without trying anything.
    pub fn untried() -> Self {
        Self {
            tier: Tier::Pgroup,
            cgroups: cgroups(Tier::Cgroup).ok().flatten(),
        }
    }

    /// Tries a tier; says why it does not work.
    pub fn of(tier: Tier, supervisors: &Supervisors) -> Result<Self, String> {
        Self::with_limits(tier, supervisors, Limits::default())
    }

    fn with_limits(tier: Tier, supervisors: &Supervisors, limits: Limits) -> Result<Self, String> {
        let found = Self {
            tier,
            cgroups: cgroups(tier)?,
        };
        found.cgroups.iter().for_each(|home| remove_trials(home));
        Trial::new()
            .and_then(|trial| trial.execute(supervisors, &found, limits))
            .map(|()| found)
    }

    /// Returns the control group of a run, where the tier has one.
    pub(in crate::runner) fn cgroup(&self, runs: &Path, run: &str) -> Option<PathBuf> {
        let study = runs.file_name().unwrap_or_default().to_string_lossy();
        let name = format!("prereg-{study}-{run}");
        self.cgroups.as_ref().map(|folder| folder.join(name))
    }
}

#[cfg(target_os = "linux")]
fn cgroups(tier: Tier) -> Result<Option<PathBuf>, String> {
    match tier {
        Tier::PidnsCgroup | Tier::Cgroup => super::cgroup::home().map(Some),
        _ => Ok(None),
    }
}

#[cfg(not(target_os = "linux"))]
fn cgroups(tier: Tier) -> Result<Option<PathBuf>, String> {
    match tier {
        Tier::Pgroup => Ok(None),
        _ => Err("this system has process groups only".to_owned()),
    }
}

/// Removes the control groups of trials whose session was killed: those that are empty, and so old that
/// nobody is about to use them.
fn remove_trials(home: &Path) {
    for entry in std::fs::read_dir(home).into_iter().flatten().flatten() {
        let is_trial = entry
            .file_name()
            .to_string_lossy()
            .starts_with("prereg-trial-");
        let made = entry.metadata().and_then(|found| found.modified());
        let age = made.ok().and_then(|made| made.elapsed().ok());
        if is_trial && age.is_some_and(|age| age > TRIAL_MAX) {
            // One that is not empty is somebody's.
            let _ = std::fs::remove_dir(entry.path());
        }
    }
}

/// Returns limits of all the kinds that something is to be executed under, far from being reached.
fn limits_of<'a>(executions: impl Iterator<Item = &'a Execution>) -> Limits {
    let mut limits = Limits::default();
    for execution in executions {
        let Execution {
            memory_max,
            processes_max,
            cpu_time_max,
            ..
        } = execution;
        limits.memory = limits.memory.or(memory_max.map(|_| 1 << 30));
        limits.processes = limits.processes.or(processes_max.map(|_| 64));
        limits.cpu_us = limits.cpu_us.or(cpu_time_max.map(|_| 10_000_000));
    }
    limits
}

/// Returns a tier as protocols spell it.
pub fn word(tier: Tier) -> &'static str {
    match tier {
        Tier::PidnsCgroup => "pidns_cgroup",
        Tier::Pidns => "pidns",
        Tier::Cgroup => "cgroup",
        Tier::Subreaper => "subreaper",
        Tier::Pgroup => "pgroup",
    }
}
