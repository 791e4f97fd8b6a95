//! What is executed after each run: the protocol's own way to remove what no supervisor can reach.
//!
//! The label that it is given names one run of one record, and so never what is somebody else's.

use std::fs;
use std::time::Duration;

use super::executor::{Assignment, Executor, StepFault};
use super::process::{self, Interrupt, Job};

/// How long a clean-up may take.
const CLEAN_MAX: Duration = Duration::from_secs(120);
/// The most bytes that are kept of what it prints.
const OUTPUT_MAX: u64 = 4096;

impl Executor<'_> {
    /// Cleans up after a run that is not executed any more, where the protocol says how.
    pub fn clean_up(&self, assignment: &Assignment) -> Result<(), StepFault> {
        let limits = self.limits(&assignment.arm);
        let Some(command) = &limits.cleanup else {
            return Ok(());
        };
        let words = command.iter().map(|word| self.fill(word, assignment, true));
        let words: Vec<String> = words.collect();
        let env = self.environment(assignment, limits, false);
        let folder = tempfile::Builder::new().prefix("prereg-").tempdir();
        let folder = folder.map_err(StepFault::folder(&std::env::temp_dir()))?;
        let (stdout, stderr) = (folder.path().join("stdout"), folder.path().join("stderr"));
        let job = Job {
            command: &words,
            base: self.base,
            dir: self.base,
            env: &env,
            timeout: CLEAN_MAX,
            grace: limits.grace.std(),
            output_max: OUTPUT_MAX,
            stdout: &stdout,
            stderr: &stderr,
        };
        let fault = |why: String| StepFault::CleanUp {
            run: assignment.run,
            why,
        };
        // A clean-up that was begun is ended by its own limit only.
        let never = Interrupt::new().map_err(|error| fault(error.to_string()))?;
        let ended =
            process::execute(&job, &never, drop).map_err(|error| fault(error.to_string()))?;
        if ended.exit == Some(0) {
            return Ok(());
        }
        let said = fs::read_to_string(&stderr).unwrap_or_default();
        let said = said.lines().next().unwrap_or_default();
        let said: String = said.chars().filter(|c| !c.is_control()).collect();
        Err(fault(match (ended.timed_out, ended.exit) {
            (true, _) => format!("it had not ended after {} s", CLEAN_MAX.as_secs()),
            (false, Some(exit)) => format!("exit status {exit} {said}"),
            (false, None) => format!("a signal ended it {said}"),
        }))
    }
}
