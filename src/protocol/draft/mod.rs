//! The protocol file as it is written: every table and key of language 1, without meaning.
//!
//! These types carry the shape alone. The JSON Schema is generated from them, the checker reads
//! them, and nothing but the checker sees them: what a key means starts in `model`.
//! The one-line comments are the manual's text and the editor's help.

mod design;
mod execution;
mod judgement;
mod literal;
mod rules;

pub use design::*;
pub use execution::*;
pub use judgement::*;
pub use literal::*;
pub use rules::*;

use std::collections::BTreeMap;

use literal::ReasonText;
use schemars::JsonSchema;
use serde::Deserialize;

/// A pre-registered comparison: what is compared, on what, in which order, and by which rules.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(title = "prereg protocol, language 1", extend("allOf" = [
    {
        "if": { "required": ["stages"], "properties": { "stages": { "minItems": 1 } } },
        "then": { "properties": { "allocation": { "not": { "required": ["repeats"] } } } },
        "else": { "properties": {
            "allocation": { "required": ["repeats"] },
            "stops": { "items": { "properties": { "scope": { "enum": ["study", "arm"] } } } },
        } },
    },
    {
        "if": {
            "required": ["stages"],
            "properties": { "stages": { "contains": { "required": ["fits"] } } },
        },
        "then": { "required": ["cutoff"] },
    },
    {
        "if": { "not": { "properties": { "allocation": {
            "required": ["nest"],
            "properties": { "nest": { "maxItems": 2 } },
        } } } },
        "then": { "required": ["analysis"] },
    },
    {
        "if": { "not": { "required": ["backoff"] } },
        "then": { "properties": { "holds": { "items": { "required": ["until"] } } } },
    },
    {
        // A shuffled draw asks for the seed itself.
        "if": { "not": {
            "required": ["draw"],
            "properties": { "draw": { "anyOf": [
                { "required": ["seed"] },
                { "properties": { "method": { "enum": ["shuffled"] } } },
            ] } },
        } },
        "then": { "properties": { "allocation": { "properties": { "arms": {
            "enum": ["alternating", "counterbalanced", "williams"],
        } } } } },
    },
]))]
pub struct Draft {
    /// The version of the language that gives the words their meaning: 1. A new meaning is a new
    /// word or a new number, so a protocol always means what it meant when it was written.
    #[schemars(range(min = 1, max = 1))]
    #[schemars(extend("examples" = [1]))]
    pub language: u32,
    /// What is asked, and of which kind the study is.
    pub study: Study,
    /// The tasks that the arms are compared on.
    pub tasks: Tasks,
    /// Which of the confirmatory tasks are used, and in which order. Without this table all are
    /// used, in the frame's order.
    pub draw: Option<Draw>,
    /// The conditions that are compared: at least two. A matrix study, `nest = ["arm", "repeat"]`,
    /// may have one.
    #[schemars(length(min = 1, max = 64))]
    pub arms: Vec<Arm>,
    /// Planted arms that test the instrument: a right answer that must pass, and nothing that must
    /// fail.
    #[serde(default)]
    pub controls: Vec<Control>,
    /// How slots follow one another. A slot is one place of the plan: a task, a repeat and an arm.
    pub allocation: Allocation,
    /// The plan in stages that open on a condition. With stages, `repeats` stands in each stage and
    /// not under `[allocation]`.
    #[serde(default)]
    pub stages: Vec<Stage>,
    /// What counts as an attempt at a slot. Without this table a slot has one attempt.
    pub attempts: Option<Attempts>,
    /// When error stops are put down to the world and not to an arm. Without this table every ended
    /// run counts.
    pub outage: Option<Outage>,
    /// What the world reports, for stops, holds and stages to read.
    #[serde(default)]
    pub readings: Vec<Reading>,
    /// Conditions that end the study, a stage or an arm.
    #[serde(default)]
    pub stops: Vec<Stop>,
    /// Conditions that make starts wait. Waiting uses no attempt.
    #[serde(default)]
    pub holds: Vec<Hold>,
    /// How long to wait where nothing says until when.
    pub backoff: Option<Backoff>,
    /// The moment after which nothing starts.
    pub cutoff: Option<Cutoff>,
    /// Limits on what is spent.
    #[serde(default)]
    pub budgets: Vec<Budget>,
    /// Holds everything after failures in a row to prepare or to start a run.
    pub breaker: Option<Breaker>,
    /// A file that must say `on` before a run may start. Without this table the switch is on.
    #[serde(rename = "switch")]
    pub switch: Option<Switch>,
    /// How an arm is executed: the same for every arm and control, unless an arm overrides a key.
    pub execution: Option<Execution>,
    /// A check of each arm before anything starts.
    pub preflight: Option<Preflight>,
    /// Facts that are observed before and after each run; a change refuses the next start.
    #[serde(default)]
    pub probes: Vec<Probe>,
    /// What an arm's own output says of its run.
    pub observation: Option<Observation>,
    /// What an arm says of its own success. Without this table expressions have no `claim`.
    pub claim: Option<Claim>,
    /// Who says what a run achieved. Without this table outcomes come from the observation and the
    /// exit status.
    pub judge: Option<Judge>,
    /// A check in the middle of a run, recorded once.
    pub checkpoint: Option<Checkpoint>,
    /// What is measured of each run. An expression may read the outcomes above its own.
    #[schemars(length(min = 1, max = 64))]
    pub outcomes: Vec<Outcome>,
    /// When an ended run is not scored.
    pub scoring: Option<Scoring>,
    /// For each arm, by its id, whether a run was exposed to what the arm stands for: true or false. It
    /// reads what outcomes read, but no outcome; what it says is sealed as they are, and told with the answer.
    #[schemars(extend("examples" = [{ "treatment": "report.claude_md_read", "baseline": "!report.claude_md_read" }]))]
    pub manipulation_check: Option<BTreeMap<String, ExpressionText>>,
    /// Which files of a run are kept.
    pub artefacts: Option<Artefacts>,
    /// What a run must have left to be scored.
    pub evidence: Option<Evidence>,
    /// Who may write to the record.
    pub actors: Option<Actors>,
    /// How the answer is computed from the outcomes, chosen before any was seen. A matrix study may
    /// go without.
    pub analysis: Option<Analysis>,
    /// The weaknesses that the author accepts, each by its code, with the reason in one line. A
    /// weakness that `check` finds and that is not named here is a defect, and so is a name that
    /// `check` does not find.
    #[serde(default)]
    #[schemars(with = "BTreeMap<String, ReasonText>", extend("examples" = [{ "no-control": "the hidden tests fail on every untouched repository" }]))]
    pub limitations: BTreeMap<String, String>,
}

impl Draft {
    /// Returns how often each arm is executed on each task in all stages together.
    pub fn staged_repeats(&self) -> u32 {
        let each = self.stages.iter().map(|stage| stage.repeats);
        // A stage whose own range was refused is counted here too.
        each.fold(0, u32::saturating_add)
    }

    /// Returns how often each arm is executed on each task, one stage after another.
    pub fn repeats(&self) -> u32 {
        let repeats = self.allocation.repeats;
        repeats.unwrap_or_else(|| self.staged_repeats())
    }

    /// Returns whether the plan has no loop over tasks: arms, each repeated, over one fixture.
    pub fn is_matrix(&self) -> bool {
        self.allocation.nest.as_deref() == Some(&[Axis::Arm, Axis::Repeat])
    }
}
