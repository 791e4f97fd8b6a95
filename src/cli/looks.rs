//! Looks at the world that a verb takes by itself; Ctrl-C ends them.

use std::collections::BTreeMap;
use std::path::Path;

use super::reply::Failure;
use super::run::environment;
use super::study::{Before, ProtocolFile, folder_of};
use crate::engine::command::Action;
use crate::engine::preflight::Status;
use crate::protocol::model::{Arm, Protocol};
use crate::runner::process::Interrupt;
use crate::runner::session::SessionFault;
use crate::runner::world::{self, BindFault, World};
use crate::runner::{signals, switch};
use crate::store::Store;

/// Observes what a registration binds, unless the record has one; refuses a probe that binds nothing.
pub(super) fn binding(loaded: &ProtocolFile, before: &Before) -> Result<Vec<Action>, Failure> {
    let protocol = &loaded.checked.registration.protocol;
    if before.registered || protocol.probes.is_empty() {
        return Ok(Vec::new());
    }
    look(protocol, &loaded.base, |world| {
        world.binding().map_err(|fault| match fault {
            BindFault::Step(fault) => SessionFault::from(fault).into(),
            fault => Failure::Fault {
                code: "probe",
                message: format!("{fault}; nothing was registered"),
            },
        })
    })
}

/// Looks at what a start by hand goes by: for an arm at the preflights that were not ready, at probes
/// and at readings that a command takes; at the switch always. The first answer to a key, given
/// again, goes by nothing.
pub(super) fn before_start(
    store: &mut Store,
    arm: &str,
    key: Option<&str>,
) -> Result<Vec<Action>, Failure> {
    let Some(rules) = store.rules()? else {
        return Ok(Vec::new());
    };
    if key.map_or(Ok(false), |key| store.is_answered(key))? {
        return Ok(Vec::new());
    }
    let (protocol, base) = (rules.protocol(), folder_of(store.path()));
    let mut looked = Vec::new();
    let looks = protocol.preflight.is_some() || world::is_looked_at(protocol);
    if looks && protocol.arm(arm).is_some() {
        looked = look_at_arms(protocol, &base, &store.standing()?.preflight)?;
    }
    looked.extend(switch::look(protocol, &base));
    Ok(looked)
}

/// Looks at everything but the switch; `said` is what preflights said last.
fn look_at_arms(
    protocol: &Protocol,
    base: &Path,
    said: &BTreeMap<String, String>,
) -> Result<Vec<Action>, Failure> {
    let is_asked = |arm: &Arm| said.get(&arm.id).map(String::as_str) != Some(Status::Ready.text());
    look(protocol, base, |world| {
        let mut looked = world.preflights(is_asked).map_err(SessionFault::from)?;
        looked.extend(world.look().map_err(SessionFault::from)?);
        Ok(looked)
    })
}

/// Looks at the world, unless the operator ends it.
fn look<T>(
    protocol: &Protocol,
    base: &Path,
    work: impl FnOnce(&World<'_>) -> Result<T, Failure>,
) -> Result<T, Failure> {
    let deaf = |error: std::io::Error| Failure::Fault {
        code: "signals",
        message: error.to_string(),
    };
    let interrupt = Interrupt::new().map_err(deaf)?;
    let hand = interrupt.clone();
    let listening = signals::listen(move |_| {
        // A pipe that is broken has no reader left to tell.
        let _ = hand.fire();
    });
    let _listening = listening.map_err(deaf)?;
    let found = work(&World {
        protocol,
        base,
        env: &environment(),
        interrupt: &interrupt,
        runs: None,
    });
    if interrupt.has_fired() {
        // Also where it came too late to end anything: nobody else heard it.
        return Err(Failure::Interrupted {
            message: "the look at the world was ended; nothing was written",
        });
    }
    found
}
