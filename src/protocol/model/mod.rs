//! The protocol as it is meant: every default written out, every literal an exact quantity.
//!
//! These types are what is registered: their JSON is hashed, kept in the record and read back by
//! whoever verifies. A field is added for a new word of the language; none changes its meaning.
//! They stand in files much as the draft types do: `design`, `execution`, `judgement`, `rules`;
//! `analysis` has one of its own.

mod analysis;
mod design;
mod execution;
mod judgement;
mod rules;

pub use analysis::*;
pub use design::*;
pub use execution::*;
pub use judgement::*;
pub use rules::*;

use std::collections::BTreeMap;
use std::iter;

use serde::{Deserialize, Serialize};

use crate::units::Time;

pub use super::draft::{
    Alternative, ArmsOrder, Axis, Better, BlockKind, BudgetCounts, BudgetPer, BudgetUnknown,
    CauseWord, Containment, DrawMethod, Effect, ErrorsIn, Estimand, Estimate, EvidenceWord,
    Executed, Expect, FieldKind, Gate, Inference, Interval, LateReport, MultiplicityMethod,
    Objective, OrderBy, OutageWindow, OutcomeKind, ProbeFormat, ReadingFrom, Retain, RunSeed,
    ScoreWord, Serial, Spending, SplitKind, StopAt, StopScope, StudyKind, Test, UnderRun,
    UnknownStop, Voids,
};

/// A protocol that passed every check.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Protocol {
    /// The version of the language.
    pub language: u32,
    /// What is asked.
    pub study: Study,
    /// The declared fields of an open frame's tasks; none where the frame is a file.
    pub open_fields: Option<BTreeMap<String, FieldKind>>,
    /// What each split is for; without it every task is confirmatory.
    pub splits: Option<BTreeMap<String, SplitKind>>,
    /// How the tasks are drawn.
    pub draw: Draw,
    /// The conditions that are compared, in the listed order.
    pub arms: Vec<Arm>,
    /// The planted arms.
    pub controls: Vec<Control>,
    /// How slots follow one another.
    pub allocation: Allocation,
    /// The stages of the plan, in order; a plan without stages has none.
    pub stages: Vec<Stage>,
    /// What counts as an attempt.
    pub attempts: Attempts,
    /// When error stops are put down to the world.
    pub outage: Option<Outage>,
    /// What the world reports.
    pub readings: Vec<Reading>,
    /// Conditions that end the study, a stage or an arm.
    pub stops: Vec<Stop>,
    /// Conditions that make starts wait.
    pub holds: Vec<Hold>,
    /// How long to wait where nothing says until when.
    pub backoff: Option<Backoff>,
    /// The moment at and after which nothing starts.
    pub cutoff: Option<Time>,
    /// Limits on what is spent.
    pub budgets: Vec<Budget>,
    /// What holds everything after failures in a row.
    pub breaker: Option<Breaker>,
    /// The file beside the protocol that must say `on`.
    pub switch: Option<String>,
    /// How controls are executed, and arms unless they say otherwise.
    pub execution: Execution,
    /// The check of each arm before anything starts, as templates.
    pub preflight: Option<Vec<String>>,
    /// Facts that are observed before and after each run.
    pub probes: Vec<Probe>,
    /// What an arm's own output says of its run.
    pub observation: Option<Observation>,
    /// What an arm says of its own success.
    pub claim: Option<Claim>,
    /// Who says what a run achieved.
    pub judge: Option<Judge>,
    /// The arms whose runs have a check in the middle.
    pub checkpoint: Vec<String>,
    /// What is measured, in the order of declaration.
    pub outcomes: Vec<Outcome>,
    /// When an ended run is not scored.
    pub scoring: Scoring,
    /// For each arm, whether a run was exposed to what the arm stands for.
    pub manipulation_check: BTreeMap<String, String>,
    /// Which files of a run are kept.
    pub artefacts: Option<Artefacts>,
    /// The evidence that a run must have left to be scored.
    pub evidence: Vec<EvidenceWord>,
    /// The kinds of actor that may write to the record; empty means any.
    pub actors: Vec<String>,
    /// How the answer is computed from the outcomes.
    pub analysis: Option<Analysis>,
    /// The accepted weaknesses, by code.
    pub limitations: BTreeMap<String, String>,
}

impl Protocol {
    /// Returns whether outcomes by arm are sealed until the study has ended.
    pub fn sealed(&self) -> bool {
        self.analysis.as_ref().is_none_or(|analysis| analysis.seal)
    }

    /// Returns the outcome that says what a success is: the one that is called `resolved`; else the first one that is
    /// binary, better where it is true, and no claim, of the primary comparison, the secondary ones, and all; else that
    /// of the primary comparison, if it is binary.
    pub fn success(&self) -> Option<&Outcome> {
        let binary = |outcome: &&Outcome| outcome.kind == OutcomeKind::Binary;
        let comparisons = self.analysis.iter().flat_map(|analysis| {
            let others = analysis.secondary.iter().map(|one| &one.comparison);
            iter::once(&analysis.primary).chain(others)
        });
        let compared = comparisons.filter_map(|one| self.outcome(&one.outcome));
        let primary = compared.clone().next();
        let mut all = compared.chain(&self.outcomes).filter(binary);
        let named = self.outcome("resolved").filter(binary);
        named
            .or_else(|| all.find(|one| one.better == Better::Higher && !one.is_claim()))
            .or_else(|| primary.filter(binary))
    }

    /// Returns the outcome that says whether the arm claims a success: the one that is called `claimed`, else the
    /// one whose value is what it claims.
    pub fn claimed(&self) -> Option<&Outcome> {
        let claims = |outcome: &&Outcome| outcome.kind == OutcomeKind::Binary && outcome.is_claim();
        let named = self.outcome("claimed");
        named.or_else(|| self.outcomes.iter().find(claims))
    }

    /// Returns an outcome.
    pub fn outcome(&self, id: &str) -> Option<&Outcome> {
        self.outcomes.iter().find(|outcome| outcome.id == id)
    }

    /// Returns an arm's place in the listed order.
    pub fn arm(&self, id: &str) -> Option<usize> {
        self.arms.iter().position(|arm| arm.id == id)
    }

    /// Returns how an arm, or a control, is executed.
    pub fn execution_of(&self, arm: &str) -> &Execution {
        self.arm(arm)
            .map_or(&self.execution, |arm| &self.arms[arm].execution)
    }

    /// Returns whether `prereg run` is to execute an arm, or a control: those go where the arms do.
    pub fn is_executed_here(&self, id: &str) -> bool {
        let is_here = |arm: &Arm| arm.executed == Executed::Here;
        match self.arm(id) {
            Some(arm) => is_here(&self.arms[arm]),
            None => self.arms.iter().any(is_here),
        }
    }

    /// Returns a control.
    pub fn control(&self, id: &str) -> Option<&Control> {
        self.controls.iter().find(|control| control.id == id)
    }
}
