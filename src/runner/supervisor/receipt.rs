//! What a supervisor leaves: how its command ended, or why it never ran.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::Path;

use serde::{Deserialize, Serialize};

use super::order::{Before, Order};
use super::tier::Tier;
use crate::runner::process::{CaptureFault, Captured, Ended, SpawnFault, Usage};
use crate::units::Digest;

/// What became of an order.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Receipt {
    /// How the command was held together.
    pub(super) tier: Tier,
    /// What stood in its working directory before.
    pub(super) before: Before,
    pub(super) became: Became,
}

/// What became of a command.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Became {
    /// It ended, and nothing of it is left unless that is said.
    Ended(Told),
    /// It never ran.
    Fault(Fault),
}

/// How a command ended.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Told {
    exit: Option<i32>,
    signal: Option<i32>,
    timed_out: bool,
    interrupted: bool,
    over_limit: bool,
    was_short_of_memory: bool,
    wall_us: u64,
    usage: Usage,
    leaked: bool,
    /// Why nobody can tell that nothing of it is left, where that is so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    remains: Option<String>,
    stdout: Stream,
    stderr: Stream,
    capture_fault: Option<(String, i32)>,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Stream {
    bytes: u64,
    kept: u64,
    tail: u64,
    digest: Digest,
}

/// Why a command never ran.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Fault {
    code: String,
    message: String,
    reason: String,
    is_shortage: bool,
}

impl From<&SpawnFault> for Fault {
    fn from(fault: &SpawnFault) -> Self {
        Self {
            code: fault.code().to_owned(),
            message: fault.to_string(),
            reason: fault.reason(),
            is_shortage: fault.is_shortage(),
        }
    }
}

impl From<Fault> for SpawnFault {
    fn from(fault: Fault) -> Self {
        Self::told(&fault.code, fault.message, fault.reason, fault.is_shortage)
    }
}

impl From<&Captured> for Stream {
    fn from(captured: &Captured) -> Self {
        Self {
            bytes: captured.bytes,
            kept: captured.kept,
            tail: captured.tail,
            digest: Digest(captured.digest),
        }
    }
}

impl From<Stream> for Captured {
    fn from(stream: Stream) -> Self {
        Self {
            bytes: stream.bytes,
            kept: stream.kept,
            tail: stream.tail,
            digest: stream.digest.0,
        }
    }
}

impl From<&Ended> for Told {
    fn from(ended: &Ended) -> Self {
        let fault = ended.capture_fault.as_ref();
        Self {
            exit: ended.exit,
            signal: ended.signal,
            timed_out: ended.timed_out,
            interrupted: ended.interrupted,
            over_limit: ended.over_limit,
            was_short_of_memory: ended.was_short_of_memory,
            wall_us: ended.wall_us,
            usage: ended.usage,
            leaked: ended.leaked,
            remains: ended.remains.clone(),
            stdout: (&ended.stdout).into(),
            stderr: (&ended.stderr).into(),
            capture_fault: fault.map(|fault| {
                let errno = fault.source.raw_os_error();
                (fault.path.display().to_string(), errno.unwrap_or_default())
            }),
        }
    }
}

impl From<Told> for Ended {
    fn from(told: Told) -> Self {
        Self {
            exit: told.exit,
            signal: told.signal,
            timed_out: told.timed_out,
            interrupted: told.interrupted,
            over_limit: told.over_limit,
            was_short_of_memory: told.was_short_of_memory,
            wall_us: told.wall_us,
            usage: told.usage,
            leaked: told.leaked,
            remains: told.remains,
            stdout: told.stdout.into(),
            stderr: told.stderr.into(),
            capture_fault: told.capture_fault.map(|(path, errno)| CaptureFault {
                path: path.into(),
                source: io::Error::from_raw_os_error(errno),
            }),
        }
    }
}

impl Receipt {
    pub(super) fn new(order: &Order, became: &Result<Ended, SpawnFault>) -> Self {
        let became = match became {
            Ok(ended) => Became::Ended(ended.into()),
            Err(fault) => Became::Fault(fault.into()),
        };
        Self {
            tier: order.tier,
            before: order.before,
            became,
        }
    }

    /// Puts the receipt in its place, whole; `is_alone` says that nobody else will make it durable.
    pub(super) fn put(&self, place: &Path, is_alone: bool) -> io::Result<()> {
        let aside = place.with_extension("receipt-tmp");
        let mut file = File::create(&aside)?;
        file.write_all(&serde_json::to_vec(self)?)?;
        if is_alone {
            file.sync_all()?;
        }
        fs::rename(&aside, place)?;
        if let (true, Some(folder)) = (is_alone, place.parent()) {
            File::open(folder)?.sync_all()?;
        }
        Ok(())
    }

    /// Reads the receipt at a place; nothing where there is none.
    pub(super) fn read(place: &Path) -> io::Result<Option<Self>> {
        match fs::read(place) {
            Ok(bytes) => Ok(Some(serde_json::from_slice(&bytes)?)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }
}
