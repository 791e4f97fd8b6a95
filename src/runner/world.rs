//! Looks at the world for the rules: probes, readings that a command takes, preflights, the switch.
//!
//! What cannot be observed is reported as that, never as what was seen before.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::Path;
use std::time::Duration;

use serde::Deserialize;
use serde_json::Value;

use super::executor::StepFault;
use super::process::{self, Interrupt, Job};
use super::{switch, tree};
use crate::engine::command::Action;
use crate::engine::probes;
use crate::protocol::canonical;
use crate::protocol::model::{Executed, Execution, Protocol, ReadingFrom};
use crate::protocol::template;

/// How long a look may take before it is ended.
const LOOK_MAX: Duration = Duration::from_secs(60);
/// The most bytes that are read of what a look prints.
const OUTPUT_MAX: u64 = 1024 * 1024;
/// What is told of an arm whose preflight says nothing that can be read.
const NO_ANSWER: &str = "no_answer";

/// The world around a study, as its protocol looks at it.
#[derive(Debug)]
pub struct World<'a> {
    /// The protocol.
    pub protocol: &'a Protocol,
    /// The folder of the protocol file, absolute.
    pub base: &'a Path,
    /// What the arms' own environment is taken from.
    pub env: &'a BTreeMap<OsString, OsString>,
    /// Ends a look under way.
    pub interrupt: &'a Interrupt,
}

/// What came of a look.
enum Look {
    /// What was printed.
    Said(String),
    /// The command failed, or printed no text.
    Nothing,
    /// The operator ended it: nothing is known.
    Interrupted,
}

/// What a preflight prints.
#[derive(Deserialize)]
struct Preflight {
    status: String,
}

impl World<'_> {
    /// Returns whether a look executes anything.
    pub fn is_looked_at(&self) -> bool {
        !self.protocol.probes.is_empty() || self.commands().next().is_some()
    }

    /// Observes every probe.
    pub fn probes(&self) -> Result<Vec<Action>, StepFault> {
        let mut found = Vec::new();
        for probe in &self.protocol.probes {
            let value = match self.execute(&probe.command, &self.protocol.execution, None)? {
                Look::Said(output) => probes::read(probe, &output).ok(),
                Look::Nothing => None,
                Look::Interrupted => break,
            };
            let id = probe.id.clone();
            found.push(Action::Probe { id, value });
        }
        Ok(found)
    }

    /// Takes the readings that a command takes. One that says nothing leaves the newest as it is:
    /// `unknown_when` tells how long that one holds.
    pub fn readings(&self) -> Result<Vec<Action>, StepFault> {
        let mut found = Vec::new();
        for (id, command) in self.commands() {
            let Look::Said(output) = self.execute(command, &self.protocol.execution, None)? else {
                continue;
            };
            if let Ok(Value::Object(fields)) = canonical::read(output.as_bytes()) {
                let id = id.to_owned();
                found.push(Action::Read { id, fields });
            }
        }
        Ok(found)
    }

    /// Asks of every arm that is executed here whether it is ready.
    pub fn preflights(&self) -> Result<Vec<Action>, StepFault> {
        let mut found = Vec::new();
        let Some(command) = &self.protocol.preflight else {
            return Ok(found);
        };
        let arms = self.protocol.arms.iter();
        for arm in arms.filter(|arm| arm.executed == Executed::Here) {
            let said = match self.execute(command, &arm.execution, Some(&arm.id))? {
                Look::Said(output) => serde_json::from_str::<Preflight>(&output).ok(),
                Look::Nothing => None,
                Look::Interrupted => break,
            };
            let arm = arm.id.clone();
            let status = said.map_or_else(|| NO_ANSWER.to_owned(), |said| said.status);
            found.push(Action::Preflight { arm, status });
        }
        Ok(found)
    }

    /// Reads the switch, where the protocol has one.
    pub fn switch(&self) -> Option<Action> {
        let file = self.protocol.switch.as_ref()?;
        let text = switch::read(self.base, file);
        Some(Action::Switch { text })
    }

    /// Returns the readings that a command takes.
    fn commands(&self) -> impl Iterator<Item = (&str, &[String])> {
        let readings = self.protocol.readings.iter();
        let taken = readings.filter(|reading| reading.from == ReadingFrom::Command);
        taken.filter_map(|reading| Some((reading.id.as_str(), reading.command.as_deref()?)))
    }

    /// Executes a command beside the protocol; returns what it printed.
    fn execute(
        &self,
        command: &[String],
        limits: &Execution,
        arm: Option<&str>,
    ) -> Result<Look, StepFault> {
        let fill = |text: &String| {
            let value = |name: &str| (name == "arm.id").then(|| arm.map(str::to_owned)).flatten();
            template::fill(text, value).unwrap_or_else(|_| text.clone())
        };
        let command: Vec<String> = command.iter().map(fill).collect();
        let passed = limits.env_pass.iter().map(String::as_str).chain(["PATH"]);
        let passed = passed.filter_map(|name| self.env.get_key_value(&OsString::from(name)));
        let passed = passed.map(|(name, value)| (name.clone(), value.clone()));
        let given = limits.env.iter();
        let given = given.map(|(name, value)| (name.into(), fill(value).into()));
        let env: BTreeMap<OsString, OsString> = passed.chain(given).collect();
        let folder = tempfile::Builder::new().prefix("prereg-").tempdir();
        let folder = folder.map_err(StepFault::folder(&std::env::temp_dir()))?;
        let (stdout, stderr) = (folder.path().join("stdout"), folder.path().join("stderr"));
        let job = Job {
            command: &command,
            base: self.base,
            dir: self.base,
            env: &env,
            timeout: LOOK_MAX,
            grace: Duration::ZERO,
            output_max: OUTPUT_MAX,
            stdout: &stdout,
            stderr: &stderr,
        };
        let Ok(ended) = process::execute(&job, self.interrupt, |_| ()) else {
            return Ok(Look::Nothing);
        };
        if ended.interrupted {
            return Ok(Look::Interrupted);
        }
        if let Some(fault) = ended.capture_fault {
            return Err(fault.into());
        }
        if ended.exit != Some(0) || ended.timed_out || ended.stdout.bytes > OUTPUT_MAX {
            return Ok(Look::Nothing);
        }
        let printed = tree::read_regular(folder.path(), "stdout", OUTPUT_MAX)?;
        Ok(String::from_utf8(printed.unwrap_or_default()).map_or(Look::Nothing, Look::Said))
    }
}
