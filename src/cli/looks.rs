//! Looks at the world that a verb takes by itself; Ctrl-C ends them.

use std::path::Path;

use super::reply::Failure;
use super::run::environment;
use super::study::{Before, ProtocolFile};
use crate::engine::command::Action;
use crate::protocol::model::Protocol;
use crate::runner::process::Interrupt;
use crate::runner::session::SessionFault;
use crate::runner::signals;
use crate::runner::world::{BindFault, World};

/// Observes what a registration binds, unless the record has one; refuses a probe that binds nothing.
pub(super) fn binding(loaded: &ProtocolFile, before: &Before) -> Result<Vec<Action>, Failure> {
    let protocol = &loaded.checked.registration.protocol;
    if before.registered || protocol.probes.is_empty() {
        return Ok(Vec::new());
    }
    look(protocol, &loaded.base, |world| {
        world.binding().map_err(|fault| match fault {
            BindFault::Interrupted => INTERRUPTED,
            BindFault::Step(fault) => SessionFault::from(fault).into(),
            fault => Failure::Fault {
                code: "probe",
                message: format!("{fault}; nothing was registered"),
            },
        })
    })
}

/// What is said of a look that the operator ended.
const INTERRUPTED: Failure = Failure::Interrupted {
    message: "the look at the world was ended; nothing was written",
};

/// Looks at the world until the operator has seen enough.
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
    work(&World {
        protocol,
        base,
        env: &environment(),
        interrupt: &interrupt,
    })
}
