//! What stands beside the workspace of a run: what it printed, and the traces of its supervisors.

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use super::StepFault;
use super::staging::remove;
use crate::runner::process::Interrupt;
use crate::runner::supervisor::{Seen, Traces};
use crate::units::RunId;

/// What keeps what a run has printed: standard output and error of the arm, then of the judge.
const OUTPUTS: [&str; 4] = ["stdout", "stderr", "judge.stdout", "judge.stderr"];

/// Returns the files that keep what a run has printed, beside its workspace, in that order.
pub fn outputs(runs: &Path, run: RunId) -> [PathBuf; 4] {
    OUTPUTS.map(|stream| runs.join(format!("{run}.{stream}")))
}

/// Ends what supervisors of a run that is closed may still be at.
pub fn end_supervisors(runs: &Path, run: RunId) -> Result<(), StepFault> {
    for name in [run.to_string(), judge_name(run)] {
        let seen = Traces::of(runs, &name)
            .end()
            .map_err(StepFault::Supervisor)?;
        if let Seen::Alive(given) = seen {
            let never = Interrupt::new().map_err(StepFault::Supervisor)?;
            given.wait(&never, None).map_err(StepFault::Supervisor)?;
        }
    }
    Ok(())
}

/// Returns where what a run has left in its workspace stands while a copy of it is judged.
pub(super) fn set_aside(runs: &Path, run: RunId) -> PathBuf {
    runs.join(format!("{run}.left"))
}

/// Returns the name by which the runs of a study are told from those of others on the machine.
pub(super) fn study_of(runs: &Path) -> std::borrow::Cow<'_, str> {
    runs.file_name().unwrap_or_default().to_string_lossy()
}

/// Returns how what the supervisor of a run's judge leaves is called.
pub(super) fn judge_name(run: RunId) -> String {
    format!("{run}.judge")
}

/// Returns the files by which the supervisor of a run's judge is found.
pub(super) fn judge_traces(runs: &Path, run: RunId) -> Traces {
    Traces::of(runs, &judge_name(run))
}

/// Returns the runs of which a workspace, or something of a supervisor, stands in the folder of the runs.
pub fn left(runs: &Path) -> io::Result<BTreeSet<RunId>> {
    let mut found = BTreeSet::new();
    for entry in fs::read_dir(runs)? {
        let name = entry?.file_name();
        let Some((run, of)) = name
            .to_str()
            .map(|name| name.split_once('.').unwrap_or((name, "")))
        else {
            continue;
        };
        // What runs have printed stays, and what is kept of their files.
        if !OUTPUTS.contains(&of) && of != "artefacts" {
            found.extend(run.parse::<RunId>().ok());
        }
    }
    Ok(found)
}

/// Removes the workspace of a run, or what the arm has put in its place.
pub fn clean(runs: &Path, run: RunId) -> Result<(), StepFault> {
    remove(&set_aside(runs, run))?;
    remove(&runs.join(run.to_string()))?;
    let traces = [Traces::of(runs, &run.to_string()), judge_traces(runs, run)];
    let removed = traces.iter().try_for_each(Traces::remove);
    removed.map_err(StepFault::folder(runs))
}
