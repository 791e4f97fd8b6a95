//! What the preflights of the arms say together, and which arms have one.

use serde::{Deserialize, Serialize};

use super::refusal::Refusal;
use crate::protocol::model::{Arm, Executed, Protocol};

/// What the preflight of an arm says.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Status {
    /// The arm can be executed.
    Ready,
    /// Something must be registered first.
    RegistrationRequired,
    /// Something is not implemented.
    ImplementationGap,
}

impl Status {
    const ALL: [Self; 3] = [
        Self::Ready,
        Self::RegistrationRequired,
        Self::ImplementationGap,
    ];

    /// Returns the status as a preflight prints it.
    pub fn text(self) -> &'static str {
        match self {
            Self::Ready => "ready",
            Self::RegistrationRequired => "registration_required",
            Self::ImplementationGap => "implementation_gap",
        }
    }

    fn read(text: &str) -> Result<Self, Fault> {
        let mut all = Self::ALL.into_iter();
        all.find(|status| status.text() == text)
            .ok_or(Fault::UnknownStatus)
    }
}

/// Why preflights say nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Fault {
    /// There are none.
    Empty,
    /// One says what no preflight says.
    UnknownStatus,
}

/// How many preflights say what.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Counts {
    /// How many arms are ready.
    pub ready: u64,
    /// How many need a registration.
    pub registration_required: u64,
    /// How many are not implemented.
    pub implementation_gap: u64,
}

/// Returns the arms that are looked at: those that are executed here.
pub fn direct(protocol: &Protocol) -> impl Iterator<Item = &Arm> {
    let arms = protocol.arms.iter();
    arms.filter(|arm| arm.executed == Executed::Here)
}

/// Refuses a session that could never find every arm ready, where arms must be.
pub fn session(protocol: &Protocol) -> Result<(), Refusal> {
    if protocol.preflight.is_none() {
        return Ok(());
    }
    let mut arms = protocol.arms.iter();
    match arms.find(|arm| arm.executed == Executed::Elsewhere) {
        None => Ok(()),
        Some(_) if direct(protocol).next().is_none() => Err(Refusal::NoDirectCell {}),
        Some(arm) => Err(Refusal::ArmElsewhere {
            arm: arm.id.clone(),
        }),
    }
}

/// Returns the worst of some statuses. One that is unknown shows only where none is worse than ready.
pub fn overall<'a>(statuses: impl IntoIterator<Item = &'a str>) -> Result<Status, Fault> {
    let read = statuses.into_iter().map(Status::read);
    let worst = read.max_by_key(|status| match status {
        Ok(Status::Ready) => 0,
        Err(_) => 1,
        Ok(Status::RegistrationRequired) => 2,
        Ok(Status::ImplementationGap) => 3,
    });
    worst.unwrap_or(Err(Fault::Empty))
}

/// Counts some statuses, of which none may be unknown; none at all are counted too.
pub fn counts<'a>(statuses: impl IntoIterator<Item = &'a str>) -> Result<Counts, Fault> {
    let mut counts = Counts::default();
    for status in statuses {
        match Status::read(status)? {
            Status::Ready => counts.ready += 1,
            Status::RegistrationRequired => counts.registration_required += 1,
            Status::ImplementationGap => counts.implementation_gap += 1,
        }
    }
    Ok(counts)
}

#[cfg(test)]
mod tests {
    use super::*;

    const GAP: &str = "implementation_gap";
    const REQUIRED: &str = "registration_required";

    #[test]
    fn the_worst_status_is_that_of_all() {
        for (statuses, answer) in [
            (&["ready", "ready"][..], Ok(Status::Ready)),
            (&["ready", REQUIRED], Ok(Status::RegistrationRequired)),
            (&[GAP, REQUIRED, "ready"], Ok(Status::ImplementationGap)),
            (&["ready", "Ready"], Err(Fault::UnknownStatus)),
            (&["", "ready"], Err(Fault::UnknownStatus)),
            (&["odd", REQUIRED], Ok(Status::RegistrationRequired)),
            (&[GAP, "odd"], Ok(Status::ImplementationGap)),
            (&[], Err(Fault::Empty)),
        ] {
            assert_eq!(overall(statuses.iter().copied()), answer, "{statuses:?}");
        }
    }

    #[test]
    fn one_unknown_status_leaves_nothing_counted() {
        let counted = Counts {
            ready: 2,
            registration_required: 0,
            implementation_gap: 1,
        };
        assert_eq!(counts(["ready", GAP, "ready"]), Ok(counted));
        assert_eq!(counts([GAP, "odd"]), Err(Fault::UnknownStatus));
        assert_eq!(counts([]), Ok(Counts::default()));
    }

    #[test]
    fn a_status_is_recorded_as_it_is_printed() {
        for status in Status::ALL {
            assert_eq!(serde_json::to_value(status).unwrap(), status.text());
        }
    }
}
