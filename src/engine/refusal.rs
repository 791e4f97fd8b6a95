//! What a registered rule says no to: codes, the registered line, and whether to come back.
//!
//! A refusal carries facts, and its `sentence` is made from them; the record keeps the facts alone.
//! Which guard answers first is said where they stand, in `guards` and `decide`.

mod sentence;

use std::borrow::Cow;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::budget::Over;
use super::command::Cause;
use super::outage::Window;
use super::slice::State;
use crate::units::{Digest, RunId, Time};

/// A registered rule, or the record's state, says no.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "code", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Refusal {
    /// The protocol has keys that this version cannot enforce.
    NotEnforced {
        /// Their paths.
        keys: Vec<String>,
    },
    /// No protocol stands on the record.
    NotOpened {},
    /// What is to be registered is not what was opened last.
    NotOpenedLast {
        /// The digest that was opened last.
        opened: Digest,
    },
    /// Another registration stands.
    RegistrationDiffers {
        /// The registered digest.
        registered: Digest,
        /// The other one.
        found: Digest,
        /// What differs.
        differs: Vec<String>,
    },
    /// The switch cannot be read.
    SwitchUnreadable {},
    /// The switch is off.
    Off {},
    /// The frame has no such task.
    UnknownTask {
        /// The task.
        task: String,
    },
    /// The protocol has no such arm or control.
    UnknownArm {
        /// The arm.
        arm: String,
    },
    /// The breaker is open.
    BreakerOpen {
        /// How many starts in a row had failed; 0 where a person opened it.
        failures: u32,
    },
    /// The study is registered, and the task is in a pilot split.
    SplitClosed {
        /// The task.
        task: String,
    },
    /// The task is confirmatory, and nothing is registered.
    NotRegistered {
        /// The task.
        task: String,
    },
    /// The task is not drawn.
    NotDrawn {
        /// The task.
        task: String,
    },
    /// An arm was not looked at, or is not ready.
    NotReady {
        /// The arm.
        arm: String,
        /// What was found; none where nobody has looked.
        status: Option<String>,
    },
    /// No arm is executed here, so there is nothing to look at and nothing to run.
    NoDirectCell {},
    /// An arm is executed elsewhere, so not every arm can be found ready here.
    ArmElsewhere {
        /// The arm.
        arm: String,
    },
    /// A probe says something else than it should.
    ProbeDiffers {
        /// The probe.
        probe: String,
        /// What differs.
        name: String,
        /// What it should be.
        expected: Value,
        /// What was observed.
        observed: Value,
    },
    /// An arm reports that it used something else than was requested.
    BindingChanged {
        /// The arm.
        arm: String,
        /// The run that reports it.
        run: RunId,
        /// The setting.
        name: String,
        /// What was requested.
        requested: String,
        /// What was used.
        effective: Value,
    },
    /// A stop has fired.
    StopFired {
        /// The table of the rule, `stops` or `holds`.
        table: String,
        /// Its place there.
        rule: usize,
        /// Its id.
        id: String,
        /// The arm or the stage that it has fired for, where it is about one alone.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        of: Option<String>,
        /// The figure that is shown beside it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        shows: Option<String>,
        /// Whether a reading that it needs is unknown.
        unknown: bool,
    },
    /// A hold is in force.
    Held {
        /// The table of the rule, `stops` or `holds`.
        table: String,
        /// Its place there.
        rule: usize,
        /// Its id.
        id: String,
        /// The arm or the stage that it is about, where that is one alone.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        of: Option<String>,
        /// Until when; none where nobody can tell.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        until: Option<Time>,
        /// The figure that is shown beside it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        shows: Option<String>,
        /// Whether a reading that it needs is unknown.
        unknown: bool,
    },
    /// The slot's stage is not open.
    StageClosed {
        /// The stage.
        stage: String,
        /// Its place in the listed order, from 0.
        place: usize,
    },
    /// The block is not expected to end before the cut-off.
    DoesNotFit {
        /// The stage.
        stage: String,
        /// Its place in the listed order, from 0.
        place: usize,
    },
    /// A budget lets nothing start.
    OverBudget {
        /// The budget's place in the protocol.
        budget: usize,
        /// Why.
        over: Over,
    },
    /// The moment after which nothing starts has come.
    PastCutoff {
        /// That moment.
        cutoff: Time,
    },
    /// The hour is an outage.
    OutageHour {
        /// The hour.
        window: Window,
    },
    /// Every slot of the arm on the task has ended or is under way.
    SlotsUsed {
        /// The task.
        task: String,
        /// The arm.
        arm: String,
    },
    /// Another slot comes first.
    OutOfOrder {
        /// What may start now; none while runs that come first are under way.
        next: Option<Next>,
    },
    /// An earlier task of the draw has slots that have not ended.
    EarlierTaskOpen {
        /// The first such task.
        earlier: String,
    },
    /// It is the other arm's turn.
    ArmTurn {
        /// The other arm.
        before: String,
        /// How many of its slots must have ended, and no more.
        need: u64,
        /// How many have.
        has: u64,
    },
    /// Somebody else started a run of the task and arm in between.
    RaceLost {},
    /// As many runs are live as may be.
    CapReached {
        /// How many may be live at once.
        runs_max: u32,
    },
    /// There is no such run.
    UnknownRun {
        /// The run.
        run: RunId,
    },
    /// The run's deadline has passed.
    Stale {
        /// The run.
        run: RunId,
        /// When it was closed.
        closed: Time,
    },
    /// The run is closed.
    AlreadyClosed {
        /// The run.
        run: RunId,
        /// Whether it is scored or unjudged.
        state: State,
        /// Why it is unjudged.
        cause: Option<Cause>,
    },
    /// The run's ending was reported before.
    AlreadyEnded {
        /// The run.
        run: RunId,
    },
    /// The run has not ended.
    NotEnded {
        /// The run.
        run: RunId,
    },
    /// The run's deadline has not passed.
    NotStale {
        /// The run.
        run: RunId,
    },
    /// The splits whose diffs may be kept do not include the task's.
    DiffNotKept {
        /// The task.
        task: String,
    },
    /// Runs of this arm have no check in their middle.
    NoCheckpoint {
        /// The arm.
        arm: String,
        /// The arms whose runs have one.
        declared: Vec<String>,
    },
    /// The check in the run's middle was recorded before.
    CheckpointExists {
        /// The run.
        run: RunId,
    },
    /// What the run cost is on the record already.
    CostStands {
        /// The run.
        run: RunId,
    },
    /// The run's slot may not be attempted again.
    NotRetried {
        /// The run.
        run: RunId,
    },
    /// The frame is not open.
    FrameClosed {},
    /// The task is not what the frame declares.
    BadTask {
        /// What is wrong.
        why: String,
    },
    /// The task was added before, with other fields.
    TaskDiffers {
        /// The task.
        task: String,
        /// The fields that differ: `split` first, then as they are declared.
        fields: Vec<String>,
    },
    /// The draw does not grow.
    DrawClosed {},
    /// Tasks would be missing from the draw.
    DrawGap {
        /// How many tasks the draw has.
        size: u64,
    },
    /// The draw would have more tasks than is registered.
    DrawFull {
        /// How many tasks the draw has at most.
        size: u64,
    },
    /// Another task stands at a place of the draw.
    DrawConflict {
        /// The first such place, from 1.
        position: u64,
    },
    /// The task is not in a confirmatory split.
    NotConfirmatory {
        /// The task.
        task: String,
    },
    /// The task is drawn already.
    AlreadyDrawn {
        /// The task.
        task: String,
    },
    /// The reading is not one that the protocol declares.
    BadReading {
        /// What is wrong.
        why: String,
    },
    /// The protocol has no switch.
    NoSwitch {},
    /// The plan has no such block.
    UnknownBlock {
        /// The block, from 1.
        block: u64,
    },
    /// A run of the block is scored, and the first score stands.
    BlockScored {
        /// The block, from 1.
        block: u64,
    },
    /// The cause is one that only the engine finds.
    NotACause {
        /// The cause.
        cause: Cause,
    },
    /// A look at the first tasks of the draw comes before the next start.
    LookDue {
        /// Which look, from 1.
        look: u64,
        /// How many tasks it is at.
        tasks: u64,
    },
    /// A scheduled look has ended the study.
    LookStopped {
        /// Which look, from 1.
        look: u64,
    },
    /// No such look is due.
    LookNotDue {
        /// The look that comes next, from 1; none where none does.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        next: Option<u64>,
        /// How many slots of its tasks have not ended.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        open: Option<u64>,
    },
    /// No rule has ended the study, or a run is open.
    NotOver {},
    /// The protocol has no breaker.
    NoBreaker {},
    /// The breaker is not for people to open.
    BreakerInternal {},
    /// Actors of this kind may not write to the record.
    ActorNotAdmitted {
        /// The actor.
        actor: String,
    },
    /// `prereg run` executes the run, and reports on it itself.
    ExecutedHere {
        /// The run.
        run: RunId,
    },
    /// What shows that a head was published has more bytes than are kept.
    WitnessTooLarge {
        /// How many bytes it has.
        bytes: u64,
        /// How many it may have.
        most: u64,
    },
    /// The operation's key was used for another command.
    KeyReused {
        /// The key.
        key: String,
    },
    /// What the write is about is not what its writer saw.
    ChangedSinceRead {
        /// The newest entry when the writer looked.
        seen: u64,
        /// The newest entry that changed it since; the newest of all where there is none so new.
        stands: u64,
    },
}

/// What may start now.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Next {
    /// The task.
    pub task: String,
    /// The arm.
    pub arm: String,
}

/// Whether the same command can be granted at another time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Retry {
    /// Never.
    Never,
    /// Once something else has happened.
    Later,
}

impl Refusal {
    /// Returns the stable code.
    pub fn code(&self) -> &str {
        match self {
            Self::NotEnforced { .. } => "not-enforced",
            Self::NotOpened {} => "not-opened",
            Self::NotOpenedLast { .. } => "not-opened-last",
            Self::RegistrationDiffers { .. } => "registration-differs",
            Self::SwitchUnreadable {} => "switch-unreadable",
            Self::Off {} => "off",
            Self::StopFired { id, .. } | Self::Held { id, .. } => id,
            Self::NotReady { .. } => "not-ready",
            Self::NoDirectCell {} => "no-direct-cell",
            Self::ArmElsewhere { .. } => "arm-elsewhere",
            Self::ProbeDiffers { .. } => "probe-differs",
            Self::BindingChanged { .. } => "binding-changed",
            Self::DoesNotFit { .. } => "does-not-fit",
            Self::OverBudget { .. } => "over-budget",
            Self::ActorNotAdmitted { .. } => "actor-not-admitted",
            Self::StageClosed { .. } => "stage-closed",
            Self::OutageHour { .. } => "outage-hour",
            Self::EarlierTaskOpen { .. } | Self::ArmTurn { .. } => "out-of-order",
            Self::RaceLost {} => "race-lost",
            Self::DiffNotKept { .. } => "diff-not-kept",
            Self::NoCheckpoint { .. } => "no-checkpoint",
            Self::CheckpointExists { .. } => "checkpoint-exists",
            Self::CostStands { .. } => "cost-stands",
            Self::NotRetried { .. } => "not-retried",
            Self::FrameClosed {} => "frame-closed",
            Self::BadTask { .. } => "bad-task",
            Self::TaskDiffers { .. } => "task-differs",
            Self::DrawClosed {} => "draw-closed",
            Self::DrawGap { .. } => "draw-gap",
            Self::DrawFull { .. } => "draw-full",
            Self::DrawConflict { .. } => "draw-conflict",
            Self::NotConfirmatory { .. } => "not-confirmatory",
            Self::AlreadyDrawn { .. } => "already-drawn",
            Self::BadReading { .. } => "bad-reading",
            Self::NoSwitch {} => "no-switch",
            Self::UnknownBlock { .. } => "unknown-block",
            Self::BlockScored { .. } => "block-scored",
            Self::UnknownTask { .. } => "unknown-task",
            Self::UnknownArm { .. } => "unknown-arm",
            Self::BreakerOpen { .. } => "breaker-open",
            Self::SplitClosed { .. } => "split-closed",
            Self::NotRegistered { .. } => "not-registered",
            Self::NotDrawn { .. } => "not-drawn",
            Self::PastCutoff { .. } => "past-cutoff",
            Self::SlotsUsed { .. } => "slots-used",
            Self::OutOfOrder { .. } => "out-of-order",
            Self::CapReached { .. } => "cap-reached",
            Self::UnknownRun { .. } => "unknown-run",
            Self::Stale { .. } => "stale",
            Self::AlreadyClosed { .. } => "already-closed",
            Self::AlreadyEnded { .. } => "already-ended",
            Self::NotEnded { .. } => "not-ended",
            Self::NotStale { .. } => "not-stale",
            Self::NotACause { .. } => "not-a-cause",
            Self::LookDue { .. } => "look-due",
            Self::LookStopped { .. } => "look-stopped",
            Self::LookNotDue { .. } => "look-not-due",
            Self::NotOver {} => "not-over",
            Self::NoBreaker {} => "no-breaker",
            Self::BreakerInternal {} => "breaker-internal",
            Self::ExecutedHere { .. } => "executed-here",
            Self::WitnessTooLarge { .. } => "witness-too-large",
            Self::KeyReused { .. } => "key-reused",
            Self::ChangedSinceRead { .. } => "changed-since-read",
        }
    }

    /// Returns the key of the protocol that holds the rule, as a JSON pointer.
    pub fn rule(&self) -> Option<Cow<'static, str>> {
        match self {
            Self::StopFired { table, rule, .. } | Self::Held { table, rule, .. } => {
                Some(format!("/{table}/{rule}").into())
            }
            Self::OverBudget { budget, .. } => Some(format!("/budgets/{budget}").into()),
            Self::StageClosed { place, .. } => Some(format!("/stages/{place}/opens").into()),
            Self::DoesNotFit { place, .. } => Some(format!("/stages/{place}/fits").into()),
            other => other.key().map(Cow::Borrowed),
        }
    }

    fn key(&self) -> Option<&'static str> {
        match self {
            Self::UnknownArm { .. } => Some("/arms"),
            Self::SwitchUnreadable {} | Self::Off {} => Some("/switch"),
            Self::NotReady { .. } | Self::NoDirectCell {} | Self::ArmElsewhere { .. } => {
                Some("/preflight")
            }
            Self::ProbeDiffers { .. } => Some("/probes"),
            Self::BindingChanged { .. } => Some("/observation/effective"),
            Self::ActorNotAdmitted { .. } => Some("/actors/kinds"),
            Self::OutageHour { .. } => Some("/outage"),
            Self::EarlierTaskOpen { .. } | Self::ArmTurn { .. } => Some("/allocation/arms"),
            Self::DiffNotKept { .. } => Some("/artefacts/keep_diff_for"),
            Self::NoCheckpoint { .. } => Some("/checkpoint"),
            Self::NotRetried { .. } => Some("/attempts/rerun_on_request"),
            Self::BadTask { .. } => Some("/tasks/fields"),
            Self::NotConfirmatory { .. } => Some("/tasks/splits"),
            Self::UnknownTask { .. } => Some("/tasks/frame"),
            Self::BreakerOpen { .. } => Some("/breaker"),
            Self::BreakerInternal {} => Some("/breaker/external"),
            Self::PastCutoff { .. } => Some("/cutoff/at"),
            Self::LookDue { .. } | Self::LookStopped { .. } | Self::LookNotDue { .. } => {
                Some("/analysis/looks")
            }
            Self::SplitClosed { .. } | Self::NotRegistered { .. } => Some("/tasks/splits"),
            Self::NotDrawn { .. } | Self::DrawConflict { .. } => Some("/draw"),
            Self::DrawFull { .. } => Some("/draw/size"),
            Self::SlotsUsed { .. } => Some("/allocation/repeats"),
            Self::OutOfOrder { .. } => Some("/allocation"),
            Self::CapReached { .. } => Some("/allocation/runs_max"),
            Self::Stale { .. } => Some("/attempts/stale_after"),
            _ => None,
        }
    }

    /// Returns whether it only says to wait until something lets starts through again.
    pub fn is_hold(&self) -> bool {
        matches!(
            self,
            Self::BreakerOpen { .. }
                | Self::Held { .. }
                | Self::Off {}
                | Self::SwitchUnreadable {}
                | Self::OutageHour { .. }
                | Self::StageClosed { .. }
                | Self::LookDue { .. }
                | Self::OverBudget {
                    over: Over::Hold
                        | Over::Money {
                            for_good: false,
                            ..
                        },
                    ..
                }
        )
    }

    /// Returns until when it says to wait, where it says so.
    pub fn until(&self) -> Option<Time> {
        match self {
            Self::Held { until, .. } => *until,
            Self::OutageHour { window } => Some(window.end()),
            _ => None,
        }
    }

    /// Returns whether it stands on the record. Asking while held is a poll; and a record begins with
    /// the protocol, so there is nothing to refuse before. What is too large to be kept is not kept.
    pub fn is_recorded(&self) -> bool {
        !self.is_hold() && !matches!(self, Self::NotOpened {} | Self::WitnessTooLarge { .. })
    }

    /// Returns whether asking again can help.
    pub fn retry(&self) -> Retry {
        match self {
            hold if hold.is_hold() => Retry::Later,
            Self::OutOfOrder { .. }
            | Self::EarlierTaskOpen { .. }
            | Self::ArmTurn { .. }
            | Self::RaceLost {}
            | Self::DrawGap { .. }
            | Self::StopFired { .. }
            | Self::CapReached { .. }
            | Self::NotRegistered { .. }
            | Self::NotEnded { .. }
            | Self::NotStale { .. }
            | Self::NotOver {}
            | Self::LookNotDue { next: Some(_), .. }
            | Self::NotOpened {} => Retry::Later,
            _ => Retry::Never,
        }
    }
}
