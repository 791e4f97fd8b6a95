//! How a run that has ended is told to the engine: as it was found.

use serde_json::Value;

use super::beside::set_aside;
use super::staging::remove;
use super::{Executor, StepFault};
use crate::engine::command::{Action, Cause, EndedBy, Ending, Execution, Stream, WorkspaceSeen};
use crate::engine::scoring::EVIDENCE_MAX;
use crate::protocol::canonical;
use crate::runner::artefacts;
use crate::runner::process::{Captured, Ended};
use crate::runner::processors::processors;
use crate::runner::supervisor::{Before, Tier};
use crate::runner::tree::{self, TreeFault};
use crate::units::{Bytes, Digest, Micros, RunId, Time};

impl Executor<'_> {
    pub(super) fn ended(
        &self,
        run: RunId,
        ended: Ended,
        tier: Tier,
        before: Before,
    ) -> (Option<Action>, Option<StepFault>) {
        let rule = self.rules.protocol().artefacts.as_ref();
        // No judge was at work yet: what stands aside, somebody else has put there.
        let taken =
            remove(&set_aside(self.runs, run)).and_then(|()| artefacts::take(self.runs, run, rule));
        let artefacts = match taken {
            Ok(artefacts) => artefacts,
            // Its receipt stands: the next session takes it up again.
            Err(fault) => return (None, Some(fault)),
        };
        let ending = Ending {
            error_stop: None,
            cost: None,
            wall: Some(Micros(ended.wall_us)),
            // A limit on its processor time is a limit on its time.
            timed_out: ended.timed_out || ended.over_limit,
        };
        let ended_by = ended_by(&ended);
        let fault = ended.capture_fault.map(StepFault::from);
        let execution = Execution {
            artefacts,
            observed: self.observed(run),
            exit: ended.exit,
            signal: ended.signal,
            cpu_ms: ended.usage.cpu_ms(),
            user: ended.usage.user_us.map(Micros),
            system: ended.usage.system_us.map(Micros),
            processors: processors(),
            memory: ended.usage.peak_bytes.map(Bytes),
            program: before.program.map(Box::new),
            containment: Some(tier),
            ended_by: Some(ended_by),
            workspace: Some(Box::new(self.seen(run, before))),
            leaked: ended.leaked,
            stdout: Some(stream(&ended.stdout)),
            stderr: Some(stream(&ended.stderr)),
        };
        let finish = Action::Finish {
            run,
            ending,
            execution: Some(execution),
        };
        (Some(finish), fault)
    }

    /// Returns what a run has done to its workspace, now that nothing of it is left.
    pub(super) fn seen(&self, run: RunId, before: Before) -> WorkspaceSeen {
        let since = before.at.unwrap_or(Time(i64::MIN));
        let after = tree::state(&self.workspace(run), since);
        WorkspaceSeen {
            before: before.digest,
            after: after.digest,
            first_write: after.first_write,
            last_write: after.last_write,
        }
    }

    /// Reads what the arm's own output says: one JSON document, or nothing.
    pub(super) fn observed(&self, run: RunId) -> Option<Value> {
        let observation = self.rules.protocol().observation.as_ref()?;
        let max = EVIDENCE_MAX as u64;
        let read = match observation.from.as_str() {
            "stdout" => tree::read_regular(self.runs, &format!("{run}.stdout"), max),
            file => tree::read_regular(&self.workspace(run), file, max),
        };
        canonical::read(&read.ok()??).ok()
    }
}

/// Returns what is recorded of a run that will never be scored.
pub(super) fn closed(run: RunId, cause: Cause, note: String) -> Action {
    Action::Close {
        run,
        cause,
        note: Some(note),
    }
}

pub(super) fn ended_by(ended: &Ended) -> EndedBy {
    match ended {
        Ended {
            timed_out: true, ..
        } => EndedBy::TimeLimit,
        Ended {
            over_limit: true, ..
        } => EndedBy::CpuLimit,
        Ended {
            was_short_of_memory: true,
            ..
        } => EndedBy::MemoryLimit,
        Ended {
            interrupted: true, ..
        } => EndedBy::Operator,
        Ended {
            signal: Some(_), ..
        } => EndedBy::Signal,
        _ => EndedBy::Itself,
    }
}

/// Says that nobody knows how a run ended.
pub fn lost(run: RunId) -> Action {
    closed(
        run,
        Cause::Lost,
        "its supervisor ended without a receipt".to_owned(),
    )
}

/// Says that a run was live when the machine was started anew.
pub fn rebooted(run: RunId) -> Action {
    closed(
        run,
        Cause::Lost,
        "the machine was started anew while it was executed".to_owned(),
    )
}

/// Returns a file's text; what cannot be read as text becomes a text that is not JSON.
pub(super) fn text_of(read: Result<Option<Vec<u8>>, TreeFault>) -> Option<String> {
    match read {
        Ok(bytes) => bytes.map(|bytes| String::from_utf8(bytes).unwrap_or_default()),
        Err(_) => Some(String::new()),
    }
}

pub(super) fn stream(captured: &Captured) -> Stream {
    Stream {
        bytes: captured.bytes,
        kept: captured.kept,
        tail: captured.tail,
        digest: (captured.bytes > 0).then_some(Digest(captured.digest)),
    }
}
