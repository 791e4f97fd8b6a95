//! The look at a study's programs before anything starts: a program that is not there would use up
//! an attempt of every slot.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::path::Path;

use super::process::{self, SpawnFault};
use crate::engine::preflight;
use crate::protocol::model::{Execution, Protocol};
use crate::protocol::template;

/// Refuses the first program that `run` would start and that could not be started now.
///
/// `base` is the folder of the protocol file, `env` what the arms' own environment is taken from. A
/// program or a PATH that a task fills in is not known yet, and is passed over.
pub fn must_exist(
    protocol: &Protocol,
    base: &Path,
    env: &BTreeMap<OsString, OsString>,
) -> Result<(), SpawnFault> {
    let arms = preflight::direct(protocol).map(|arm| (&arm.command, &arm.execution));
    let controls = protocol.controls.iter().map(|control| &control.command);
    let judge = protocol.judge.iter().map(|judge| &judge.command);
    let others = controls.chain(judge);
    let others = others.map(|command| (command, &protocol.execution));
    for (command, execution) in arms.chain(others) {
        let program = command.first().map_or("", String::as_str);
        match path(execution, env) {
            Some(path) if is_literal(program) => process::must_exist(program, base, path)?,
            _ => {}
        }
    }
    Ok(())
}

/// Returns the PATH that a command is given, unless a task fills it in.
fn path<'a>(execution: &'a Execution, env: &'a BTreeMap<OsString, OsString>) -> Option<&'a OsStr> {
    match execution.env.get("PATH") {
        Some(path) => is_literal(path).then(|| OsStr::new(path)),
        None => Some(
            env.get(OsStr::new("PATH"))
                .map_or(OsStr::new(""), |path| path),
        ),
    }
}

fn is_literal(text: &str) -> bool {
    template::holes(text).is_empty()
}
