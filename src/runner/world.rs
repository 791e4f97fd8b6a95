//! Looks at the world for the rules: probes, readings that a command takes, preflights, the switch.
//!
//! What cannot be observed is reported as that, never as what was seen before.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::Path;
use std::time::Duration;

use serde_json::{Map, Value};

use super::executor::StepFault;
use super::process::{self, Ended, Interrupt, Job};
use super::{children, tree};
use crate::engine::command::Action;
use crate::engine::preflight;
use crate::engine::probes::{self, Compared};
use crate::protocol::canonical;
use crate::protocol::model::{Arm, Execution, Probe, Protocol, ReadingFrom};
use crate::protocol::template;

/// How long a look may take before it is ended.
const LOOK_MAX: Duration = Duration::from_secs(60);
/// The most bytes that are read of what a look prints.
const OUTPUT_MAX: u64 = 1024 * 1024;
/// The most characters that are repeated of what a command that failed says.
const SAID_MAX: usize = 200;
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
    /// Ends a look under way, and lets none begin.
    pub interrupt: &'a Interrupt,
    /// The folder of the runs, for a session: the next one ends what its looks have left behind.
    pub runs: Option<&'a Path>,
}

/// What came of a look.
enum Look<T> {
    /// What was found.
    Found(T),
    /// Why nothing was found.
    Nothing(String),
    /// The operator ended it: nothing is known.
    Interrupted,
}

impl<T> Look<T> {
    /// Reads what was found; what cannot be read is why nothing was.
    fn read<U>(self, read: impl FnOnce(T) -> Result<U, String>) -> Look<U> {
        match self {
            Self::Found(found) => match read(found) {
                Ok(read) => Look::Found(read),
                Err(why) => Look::Nothing(why),
            },
            Self::Nothing(why) => Look::Nothing(why),
            Self::Interrupted => Look::Interrupted,
        }
    }
}

/// Why a registration cannot bind a probe.
#[derive(Debug, thiserror::Error)]
pub enum BindFault {
    /// It could not be observed: later nothing could be compared with it.
    #[error(
        "the probe `{probe}` cannot be observed: {why}; mend its command or what it looks at, and register again"
    )]
    Unobserved {
        /// The probe.
        probe: String,
        /// What happened.
        why: String,
    },
    /// It says something else than the protocol expects.
    #[error("the probe `{probe}` does not say what it must: `{}` is expected to be {}, and {} was observed; mend that or the protocol, and register again", differs.name, differs.expected, differs.observed)]
    Differs {
        /// The probe.
        probe: String,
        /// The first fact that differs.
        differs: Box<Compared>,
    },
    /// The operator ended the look.
    #[error("the look at the probes was ended")]
    Interrupted,
    /// The look itself broke.
    #[error(transparent)]
    Step(#[from] StepFault),
}

impl World<'_> {
    /// Looks at what may change between two runs: probes, and readings that a command takes.
    pub fn look(&self) -> Result<Vec<Action>, StepFault> {
        let mut looked = self.probes()?;
        looked.extend(self.readings()?);
        Ok(looked)
    }

    /// Observes every probe.
    fn probes(&self) -> Result<Vec<Action>, StepFault> {
        let mut found = Vec::new();
        for probe in &self.protocol.probes {
            let value = match self.probe(probe)? {
                Look::Found(value) => Some(value),
                Look::Nothing(_) => None,
                Look::Interrupted => break,
            };
            let id = probe.id.clone();
            found.push(Action::Probe { id, value });
        }
        Ok(found)
    }

    /// Observes every probe for a registration. Refuses one that cannot be observed, and one that says
    /// something else than is expected of it: a registered probe is never passed over.
    pub fn binding(&self) -> Result<Vec<Action>, BindFault> {
        let probes = self.protocol.probes.iter();
        probes.map(|probe| self.bind(probe)).collect()
    }

    fn bind(&self, probe: &Probe) -> Result<Action, BindFault> {
        let id = probe.id.clone();
        let unobserved = |why| BindFault::Unobserved {
            probe: probe.id.clone(),
            why,
        };
        let value = match self.probe(probe)? {
            // What cannot be observed later counts as null, and would be the same.
            Look::Found(Value::Null) => return Err(unobserved("it printed `null`".to_owned())),
            Look::Found(value) => value,
            Look::Nothing(why) => return Err(unobserved(why)),
            Look::Interrupted => return Err(BindFault::Interrupted),
        };
        let compared = probes::compare(probe, None, &value);
        match compared.into_iter().find(|compared| !compared.matches) {
            Some(differs) => Err(BindFault::Differs {
                probe: id,
                differs: Box::new(differs),
            }),
            None => Ok(Action::Probe {
                id,
                value: Some(value),
            }),
        }
    }

    fn probe(&self, probe: &Probe) -> Result<Look<Value>, StepFault> {
        let look = self.execute(&probe.command, &self.protocol.execution, None)?;
        Ok(look.read(|output| {
            probes::read(probe, &output)
                .map_err(|fault| format!("its output is not JSON: {}", fault.message))
        }))
    }

    /// Takes the readings that a command takes. One that says nothing leaves the newest as it is:
    /// `unknown_when` tells how long that one holds.
    fn readings(&self) -> Result<Vec<Action>, StepFault> {
        let mut found = Vec::new();
        for (id, command) in commands(self.protocol) {
            let look = self.execute(command, &self.protocol.execution, None)?;
            match look.read(read_object) {
                Look::Found(fields) => {
                    let id = id.to_owned();
                    found.push(Action::Read { id, fields });
                }
                Look::Nothing(_) => {}
                Look::Interrupted => break,
            }
        }
        Ok(found)
    }

    /// Asks arms that are executed here whether they are ready: those that are to be asked.
    pub fn preflights(&self, is_asked: impl Fn(&Arm) -> bool) -> Result<Vec<Action>, StepFault> {
        let mut found = Vec::new();
        let Some(command) = &self.protocol.preflight else {
            return Ok(found);
        };
        for arm in preflight::direct(self.protocol).filter(|arm| is_asked(arm)) {
            let look = self.execute(command, &arm.execution, Some(&arm.id))?;
            let status = match look.read(read_status) {
                Look::Found(status) => status,
                Look::Nothing(_) => NO_ANSWER.to_owned(),
                Look::Interrupted => break,
            };
            let arm = arm.id.clone();
            found.push(Action::Preflight { arm, status });
        }
        Ok(found)
    }

    /// Executes a command beside the protocol; returns what it printed.
    fn execute(
        &self,
        command: &[String],
        limits: &Execution,
        arm: Option<&str>,
    ) -> Result<Look<String>, StepFault> {
        if self.interrupt.has_fired() {
            return Ok(Look::Interrupted);
        }
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
        let mark = self.runs.map(children::look_mark);
        let env: BTreeMap<OsString, OsString> = passed.chain(given).chain(mark).collect();
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
        let ended = match process::execute(&job, self.interrupt, |_| ()) {
            Ok(ended) => ended,
            Err(fault) => return Ok(Look::Nothing(fault.to_string())),
        };
        if ended.interrupted {
            return Ok(Look::Interrupted);
        }
        let read = |name| tree::read_regular(folder.path(), name, OUTPUT_MAX);
        if let Some(why) = failure(&ended, || read("stderr").ok().flatten()) {
            return Ok(Look::Nothing(why));
        }
        if let Some(fault) = ended.capture_fault {
            return Err(fault.into());
        }
        let printed = Look::Found(read("stdout")?.unwrap_or_default());
        Ok(printed.read(|bytes| {
            String::from_utf8(bytes).map_err(|_| "its output is not UTF-8".to_owned())
        }))
    }
}

/// Returns whether a look before a run executes anything.
pub fn is_looked_at(protocol: &Protocol) -> bool {
    !protocol.probes.is_empty() || commands(protocol).next().is_some()
}

/// Returns the readings that a command takes.
fn commands(protocol: &Protocol) -> impl Iterator<Item = (&str, &[String])> {
    let readings = protocol.readings.iter();
    let taken = readings.filter(|reading| reading.from == ReadingFrom::Command);
    taken.filter_map(|reading| Some((reading.id.as_str(), reading.command.as_deref()?)))
}

/// Returns why a command that has ended says nothing, unless it ended well.
fn failure(ended: &Ended, stderr: impl FnOnce() -> Option<Vec<u8>>) -> Option<String> {
    if ended.timed_out {
        let limit = LOOK_MAX.as_secs();
        return Some(format!("it had not ended after {limit} s"));
    }
    let how = match (ended.exit, ended.signal) {
        (Some(0), _) if ended.stdout.bytes > OUTPUT_MAX => {
            return Some(format!("it printed more than {OUTPUT_MAX} bytes"));
        }
        (Some(0), _) => return None,
        (Some(exit), _) => format!("it ended with exit status {exit}"),
        (None, Some(signal)) => format!("signal {signal} ended it"),
        (None, None) => "how it ended is not known".to_owned(),
    };
    let said = stderr().unwrap_or_default();
    let said = String::from_utf8_lossy(&said);
    let first = said.lines().map(str::trim).find(|line| !line.is_empty());
    let first = first.map(|line| line.chars().filter(|c| !c.is_control()));
    let first = first.map(|line| line.take(SAID_MAX).collect::<String>());
    Some(first.map_or(how.clone(), |first| format!("{how} ({first})")))
}

fn read_object(output: String) -> Result<Map<String, Value>, String> {
    match canonical::read(output.as_bytes()) {
        Ok(Value::Object(fields)) => Ok(fields),
        Ok(_) => Err("its output is not a JSON object".to_owned()),
        Err(fault) => Err(fault.message),
    }
}

/// Reads what a preflight prints; what else it says is for people.
fn read_status(output: String) -> Result<String, String> {
    match read_object(output)?.remove("status") {
        Some(Value::String(status)) => Ok(status),
        _ => Err("it says no status".to_owned()),
    }
}
