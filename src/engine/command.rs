//! What is asked of a study or reported to it.
//!
//! Some of what a command carries is sealed: it is not part of the command's JSON, which the
//! record shows to everybody, but is committed to beside it and opened after the study.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::artefacts::Artefacts;
use crate::protocol::model::{CauseWord, Containment};
use crate::protocol::registration::Registration;
use crate::units::{Bytes, Digest, Micros, Money, RunId, Time};

/// A command: who asks for what, and when.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Command {
    /// When; never earlier than the command before it.
    pub at: Time,
    /// What was wrong with the clock that it was given by.
    #[serde(default, skip_serializing_if = "Clock::is_right")]
    pub clock: Clock,
    /// Who.
    pub actor: String,
    /// The operation's identity: the same key again returns the first answer.
    pub key: String,
    /// What.
    pub action: Action,
}

/// What was wrong with the clock by which a command was given; nothing decides by it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Clock {
    /// How far it lay behind the time of the entry before, which is then the time of this one, too.
    #[serde(skip_serializing_if = "is_none")]
    pub behind: Micros,
    /// By how many microseconds it was set forward, or back, since the same session's last entry.
    #[serde(skip_serializing_if = "is_not")]
    pub jumped: i64,
}

impl Clock {
    /// The least that is worth a word; less than that is how clocks are.
    pub const WORTH: Micros = Micros::from_seconds(1);

    /// Returns whether nothing was wrong.
    pub fn is_right(&self) -> bool {
        *self == Self::default()
    }
}

fn is_none(duration: &Micros) -> bool {
    duration.0 == 0
}

fn is_zero(count: &u64) -> bool {
    *count == 0
}

fn is_not(difference: &i64) -> bool {
    *difference == 0
}

/// What is asked or reported.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "do", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Action {
    /// Puts a protocol on the record: its text and everything it resolves to.
    Open {
        /// The protocol file's exact text.
        text: String,
        /// What it resolves to.
        registration: Box<Registration>,
        /// The frame's tasks.
        tasks: Vec<Value>,
    },
    /// Registers the protocol that was opened last.
    Register {
        /// The registration's digest.
        registration: Digest,
    },
    /// Asks for a run of an arm on a task.
    Start {
        /// The task.
        task: String,
        /// The arm or control.
        arm: String,
        /// Who executes it.
        executed: Executed,
    },
    /// Reports that a run's arm has ended.
    Finish {
        /// The run.
        run: RunId,
        /// What everybody may see.
        ending: Ending,
        /// What is sealed.
        #[serde(skip)]
        execution: Option<Execution>,
    },
    /// Reports what is known of an ended run, for its outcomes to be computed.
    Score {
        /// The run.
        run: RunId,
        /// What the run changed, where that is to be kept.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        diff: Option<Digest>,
        /// What is sealed.
        #[serde(skip)]
        evidence: Option<Evidence>,
    },
    /// Reports that a run will never be scored.
    Close {
        /// The run.
        run: RunId,
        /// Why.
        cause: Cause,
        /// What happened, for people.
        #[serde(skip_serializing_if = "Option::is_none")]
        note: Option<String>,
    },
    /// Closes a run whose deadline has passed.
    Expire {
        /// The run.
        run: RunId,
    },
    /// Opens or clears the breaker by hand.
    Breaker {
        /// Whether it is to be open.
        open: bool,
    },
    /// Reports the result of the check in the middle of a run.
    Checkpoint {
        /// The run.
        run: RunId,
        /// Whether it passed.
        passed: bool,
        /// Why, for people.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        note: Option<String>,
    },
    /// Reports what a run cost whose cost was unknown when it ended.
    Cost {
        /// The run.
        run: RunId,
        /// What it cost.
        cost: Money,
    },
    /// Asks for another attempt at the slot of a run that is unjudged.
    Retry {
        /// The run.
        run: RunId,
    },
    /// Begins a session: rules that are looked at then may refuse it.
    Session {},
    /// Reports what the switch says; nothing where it cannot be read.
    Switch {
        /// Its text.
        text: Option<String>,
    },
    /// Reports a reading of the world.
    Read {
        /// Which one.
        id: String,
        /// Its fields.
        fields: Map<String, Value>,
    },
    /// Reports what was found of an arm before anything starts.
    Preflight {
        /// The arm.
        arm: String,
        /// What was found.
        status: String,
    },
    /// Reports what was observed of a probe; nothing where it could not be observed.
    Probe {
        /// The probe.
        id: String,
        /// Its value.
        value: Option<Value>,
    },
    /// Adds a task to an open frame.
    AddTask {
        /// The whole object.
        task: Value,
    },
    /// Appends tasks to a draw that grows.
    Draw {
        /// The place of the first of them, from 1.
        from: u64,
        /// Their ids.
        tasks: Vec<String>,
    },
    /// Voids a block by hand.
    Void {
        /// The block, from 1 in plan order.
        block: u64,
        /// Why.
        reason: String,
    },
    /// Records something that the protocol did not foresee.
    Deviate {
        /// What.
        note: String,
        /// The arm that may start again, whatever settings it was last seen to use.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        arm: Option<String>,
    },
    /// Records that a head of the record was published.
    Anchor {
        /// The study, as the published line names it.
        study: String,
        /// The number of the entry that was the newest then.
        entry: u64,
        /// Its digest.
        digest: Digest,
        /// What shows it.
        witness: Witness,
        /// Where it was published, for people.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        note: Option<String>,
    },
    /// Records what a scheduled look at the first tasks of the draw came to.
    Look {
        /// Which look, from 1.
        look: u64,
        /// How many tasks of the draw it is at.
        tasks: u64,
        /// Whether the registered test rejects there, which ends the study.
        stops: bool,
    },
    /// Records that a registered rule has ended the study before all its slots had.
    Conclude {},
    /// Records that somebody looked at sealed outcomes.
    Unblind {},
}

impl Action {
    /// Returns the run that the action is about, if it is about one.
    pub fn run(&self) -> Option<RunId> {
        match self {
            Self::Finish { run, .. }
            | Self::Score { run, .. }
            | Self::Close { run, .. }
            | Self::Checkpoint { run, .. }
            | Self::Cost { run, .. }
            | Self::Retry { run }
            | Self::Expire { run } => Some(*run),
            _ => None,
        }
    }

    /// Returns the name of what the action seals, if it seals anything.
    pub fn sealed_name(&self) -> Option<&'static str> {
        match self {
            Self::Finish { .. } => Some("execution"),
            Self::Score { .. } => Some("evidence"),
            _ => None,
        }
    }

    /// Returns what the action seals; null where it has nothing to seal, which is sealed too.
    pub fn sealed(&self) -> Option<Value> {
        match self {
            Self::Finish { execution, .. } => serde_json::to_value(execution).ok(),
            Self::Score { evidence, .. } => serde_json::to_value(evidence).ok(),
            _ => None,
        }
    }

    /// Puts back what the action seals, once its opening is known.
    pub fn open(&mut self, sealed: Value) -> Result<(), serde_json::Error> {
        match self {
            Self::Finish { execution, .. } => *execution = serde_json::from_value(sealed)?,
            Self::Score { evidence, .. } => *evidence = serde_json::from_value(sealed)?,
            _ => {}
        }
        Ok(())
    }
}

/// The most bytes that are kept of what shows that a head was published.
pub const WITNESS_MAX: usize = 64 * 1024;

/// What shows that a head was published, beside the word of whoever records it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Witness {
    /// Nothing but the line.
    Line {},
    /// A signature by an SSH key.
    Ssh {
        /// The armored signature.
        signature: String,
    },
    /// A time-stamp of RFC 3161.
    Rfc3161 {
        /// The token in base64.
        token: String,
    },
    /// What a git remote gave.
    Git {
        /// Its text, with the line in it.
        receipt: String,
    },
}

impl Witness {
    /// Returns the kind as it is printed.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Line {} => "line",
            Self::Ssh { .. } => "ssh",
            Self::Rfc3161 { .. } => "rfc3161",
            Self::Git { .. } => "git",
        }
    }

    /// Returns the text that is kept; nothing where there is none.
    pub fn text(&self) -> &str {
        match self {
            Self::Line {} => "",
            Self::Ssh { signature: text }
            | Self::Rfc3161 { token: text }
            | Self::Git { receipt: text } => text,
        }
    }
}

/// Who executes a run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Executed {
    /// `prereg run`, on the machine that asks.
    Here,
    /// A person or a fleet; where it can be found, if that was said.
    Elsewhere(Option<String>),
}

/// How a run ended, as far as everybody may see.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Ending {
    /// How long it took; unknown for a run executed elsewhere.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub wall: Option<Micros>,
    /// Whether its time limit ended it.
    pub timed_out: bool,
    /// Whether an error of the world stopped it, as reported; where an observation says so, that
    /// counts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error_stop: Option<bool>,
    /// What it cost, as reported; where an observation says so, that counts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost: Option<Money>,
}

/// What was observed of a run's execution; never what it means.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Execution {
    /// The exit status, unless a signal ended it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub exit: Option<i32>,
    /// The signal that ended it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub signal: Option<i32>,
    /// Processor time in milliseconds, where the system tells it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cpu_ms: Option<u64>,
    /// Processor time of its own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub user: Option<Micros>,
    /// Processor time of the system for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub system: Option<Micros>,
    /// How many processors the machine had.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub processors: Option<u32>,
    /// The most memory that one of its processes had.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub memory: Option<Bytes>,
    /// The digest of the program that was executed, where the protocol binds one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub program: Option<Box<Digest>>,
    /// How it was held together.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub containment: Option<Containment>,
    /// Who ended it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ended_by: Option<EndedBy>,
    /// What it did to its workspace.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workspace: Option<Box<WorkspaceSeen>>,
    /// What is kept of its workspace, where the protocol says what.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub artefacts: Option<Box<Artefacts>>,
    /// What the arm's own output says, where the protocol reads it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub observed: Option<Value>,
    /// Whether a process outside the run's group held its output open.
    pub leaked: bool,
    /// Its standard output.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stdout: Option<Stream>,
    /// Its standard error.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stderr: Option<Stream>,
}

impl Execution {
    /// Returns the digest of what it has left in its workspace.
    pub fn left(&self) -> Option<Digest> {
        self.workspace.as_ref()?.after
    }
}

/// What was seen of a run's workspace: before its start, and when nothing of the run was left.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct WorkspaceSeen {
    /// The digest of what stood in it before; none where that is more than is read.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub before: Option<Digest>,
    /// The digest of what stood in it after.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub after: Option<Digest>,
    /// When the first of the files that it has changed was changed last.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub first_write: Option<Time>,
    /// When it changed a file last.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_write: Option<Time>,
}

/// Who ended a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum EndedBy {
    /// Itself.
    Itself,
    /// Its supervisor, at the limit on its time.
    TimeLimit,
    /// Its supervisor, at the limit on its processor time.
    CpuLimit,
    /// The system, at the limit on its memory.
    MemoryLimit,
    /// The operator.
    Operator,
    /// A signal that its supervisor did not send.
    Signal,
}

/// What became of an output stream.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Stream {
    /// How many bytes were written.
    pub bytes: u64,
    /// How many of them were kept: from the beginning, and then from the end.
    pub kept: u64,
    /// How many of those are from the end, after a gap.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub tail: u64,
    /// The digest of all of them; none where there are none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub digest: Option<Digest>,
}

/// What is known of an ended run: raw, as it was found.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Evidence {
    /// How the judge ended, where one was executed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub judge: Option<Judged>,
    /// The text of the report.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub report: Option<String>,
    /// The text of the claim.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub claim: Option<String>,
}

/// How a judge ended.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Judged {
    /// The exit status, unless a signal ended it or it never started.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub exit: Option<i32>,
    /// The signal that ended it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub signal: Option<i32>,
    /// Whether its time limit ended it.
    pub timed_out: bool,
    /// Whether it worked where the arm had, and not on a copy: of more than can be digested there is none.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub in_place: bool,
    /// Why it could not be executed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fault: Option<String>,
}

/// Why a run is unjudged.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Cause {
    /// The judge left no report.
    NoReport,
    /// The report is not JSON, or does not satisfy its schema.
    BadReport,
    /// The judge met its limit.
    JudgeTimeout,
    /// The judge failed.
    JudgeError,
    /// The report says that the infrastructure failed.
    Infra,
    /// An outcome could not be computed.
    OutcomeError,
    /// Evidence that the protocol requires is missing or does not cohere.
    Evidence,
    /// The run was not prepared or not started.
    Failed,
    /// The run met its limit, and the protocol does not score such runs.
    TimedOut,
    /// A person ended the run.
    Cancelled,
    /// Nobody knows how the run ended.
    Lost,
    /// The run's deadline passed.
    Stale,
}

impl Cause {
    /// Returns the cause as it is printed.
    pub fn text(self) -> &'static str {
        match self {
            Self::NoReport => "no-report",
            Self::BadReport => "bad-report",
            Self::JudgeTimeout => "judge-timeout",
            Self::JudgeError => "judge-error",
            Self::Infra => "infra",
            Self::OutcomeError => "outcome-error",
            Self::Evidence => "evidence",
            Self::Failed => "failed",
            Self::TimedOut => "timed-out",
            Self::Cancelled => "cancelled",
            Self::Lost => "lost",
            Self::Stale => "stale",
        }
    }
    /// Returns the word by which `rerun` names the cause; most have one together.
    pub fn word(self) -> CauseWord {
        match self {
            Self::Failed => CauseWord::Failed,
            Self::TimedOut => CauseWord::TimedOut,
            Self::Cancelled => CauseWord::Cancelled,
            Self::Lost => CauseWord::Lost,
            Self::Stale => CauseWord::Stale,
            Self::NoReport
            | Self::BadReport
            | Self::JudgeTimeout
            | Self::JudgeError
            | Self::Infra
            | Self::OutcomeError
            | Self::Evidence => CauseWord::Unjudged,
        }
    }
}
