//! A small builder of protocols: what varies between the engine's rules, and nothing else.

use std::collections::BTreeMap;

use prereg::protocol::frame::{self, Task};
use prereg::protocol::model::{
    Allocation, Arm, ArmsOrder, Attempts, Axis, Better, BlockKind, Breaker, Budget, CauseWord,
    Containment, Control, Draw, DrawMethod, Executed, Execution, Expect, FieldKind, Judge,
    LateReport, OrderBy, Outage, Outcome, OutcomeKind, Protocol, RunSeed, ScoreWord, Scoring,
    Serial, SplitKind, Study, StudyKind, Workspace,
};
use prereg::protocol::registration::Registration;
use prereg::units::{Bytes, Micros, Share, Time};
use serde_json::{Value, json};

use super::gates::{self, Gate, Opens};
use super::looking;

/// The seed of every draw; it orders shuffled arms.
pub const SEED: &str = "a seed";

pub const HOUR: Micros = Micros(3_600_000_000);

/// What a study's rules vary in. Tasks are `t1`…, undrawn `u1`…, pilots `p1`…; arms `a`, `b`, `c`.
#[derive(Clone, Debug)]
pub struct Design {
    pub question: String,
    pub tasks: usize,
    pub undrawn: usize,
    pub pilots: usize,
    pub repeats: u32,
    pub arms: usize,
    pub nest: [Axis; 3],
    pub order: ArmsOrder,
    pub block: BlockKind,
    pub serial: Serial,
    pub runs_max: u32,
    pub per_slot: Option<u32>,
    pub rerun: Vec<CauseWord>,
    pub stale_after: Micros,
    pub late_report: LateReport,
    pub on_timeout: ScoreWord,
    pub on_error_stop: ScoreWord,
    pub rerun_on_request: Vec<CauseWord>,
    pub voids_max: Option<u32>,
    pub outage: Option<Outage>,
    /// Whether slots are ranks among the runs that count.
    pub by_counts: bool,
    /// Stages: how many repeats each has, and when it opens; without any the plan is one.
    pub stages: Vec<(u32, Opens)>,
    /// The margin by which a block of each stage but the first must fit before the cut-off.
    pub fits: Option<(u64, u64)>,
    /// Conditions on the reading `quota`, if there is one.
    pub stops: Vec<Gate>,
    pub holds: Vec<Gate>,
    /// Whether a reading whose `until` is past says nothing.
    pub expires: bool,
    pub budgets: Vec<Budget>,
    pub switch: bool,
    pub preflight: bool,
    /// Whether there is a probe, and whether it says what it expects.
    pub probe: Option<bool>,
    /// Whether the first arm has a check in its middle.
    pub checkpoint: bool,
    /// Whether users alone may write.
    pub actors: bool,
    /// Whether the last arm is executed elsewhere.
    pub elsewhere: bool,
    /// Whether tasks are added one by one.
    pub open: bool,
    /// Whether the draw is appended in batches.
    pub grows: bool,
    /// Whether a draw that grows has no size.
    pub endless: bool,
    /// How many failures in a row open the breaker, if there is one.
    pub breaker: Option<u32>,
    /// Whether the breaker is about the first arm alone.
    pub breaker_of_first: bool,
    /// Whether people may open it.
    pub breaker_external: bool,
    /// The moment at and after which nothing starts.
    pub cutoff: Option<Time>,
    /// Whether there is a control, `oracle`.
    pub control: bool,
    pub run_seed: bool,
    /// At which shares of the drawn tasks there is a look.
    pub looks: Vec<Share>,
    /// Whether tasks, arms and the control go by their other names.
    pub renamed: bool,
}

impl Default for Design {
    /// Two tasks, one repeat, two arms; the language's defaults, but four runs at once.
    fn default() -> Self {
        Self {
            question: "which arm resolves more tasks?".to_owned(),
            tasks: 2,
            undrawn: 0,
            pilots: 0,
            repeats: 1,
            arms: 2,
            nest: [Axis::Task, Axis::Repeat, Axis::Arm],
            order: ArmsOrder::Alternating,
            block: BlockKind::Task,
            serial: Serial::Block,
            runs_max: 4,
            per_slot: Some(1),
            rerun: Vec::new(),
            stale_after: Micros(6 * HOUR.0),
            late_report: LateReport::Refuse,
            on_timeout: ScoreWord::Score,
            on_error_stop: ScoreWord::Score,
            rerun_on_request: Vec::new(),
            voids_max: Some(3),
            outage: None,
            by_counts: false,
            stages: Vec::new(),
            fits: None,
            stops: Vec::new(),
            holds: Vec::new(),
            expires: false,
            budgets: Vec::new(),
            switch: false,
            preflight: false,
            probe: None,
            checkpoint: false,
            actors: false,
            elsewhere: false,
            open: false,
            grows: false,
            endless: false,
            cutoff: None,
            breaker: None,
            breaker_of_first: false,
            breaker_external: false,
            control: true,
            run_seed: false,
            looks: Vec::new(),
            renamed: false,
        }
    }
}

impl Design {
    pub fn drawn_ids(&self) -> Vec<String> {
        self.ids("t", self.tasks)
    }

    pub fn undrawn_ids(&self) -> Vec<String> {
        self.ids("u", self.undrawn)
    }

    pub fn pilot_ids(&self) -> Vec<String> {
        self.ids("p", self.pilots)
    }

    fn ids(&self, letter: &str, count: usize) -> Vec<String> {
        (1..=count)
            .map(|number| self.name(&format!("{letter}{number}")))
            .collect()
    }

    pub fn arm_ids(&self) -> Vec<String> {
        ["a", "b", "c"][..self.arms]
            .iter()
            .map(|arm| self.name(arm))
            .collect()
    }

    pub fn control_ids(&self) -> Vec<String> {
        self.control
            .then(|| self.name("oracle"))
            .into_iter()
            .collect()
    }

    /// Returns the name that goes by, under the other names in another alphabetical order.
    pub fn name(&self, name: &str) -> String {
        if self.renamed {
            other_name(name)
        } else {
            name.to_owned()
        }
    }

    /// Returns how often each arm is executed on each task, in all stages together.
    pub fn all_repeats(&self) -> u32 {
        match self.stages.as_slice() {
            [] => self.repeats,
            stages => stages.iter().map(|(repeats, _)| repeats).sum(),
        }
    }

    /// Returns the tasks that can be drawn, in the order of the whole draw.
    pub fn drawable_ids(&self) -> Vec<String> {
        match self.endless {
            true => [self.drawn_ids(), self.undrawn_ids()].concat(),
            false => self.drawn_ids(),
        }
    }

    /// Returns the tasks as the frame's lines say them; an open frame has none yet.
    pub fn frame(&self) -> Vec<Value> {
        if self.open {
            return Vec::new();
        }
        let main = [self.drawn_ids(), self.undrawn_ids()].concat();
        let main = main.into_iter().map(|id| (id, "main"));
        let pilots = self.pilot_ids().into_iter().map(|id| (id, "pilot"));
        main.chain(pilots)
            .map(|(id, split)| json!({ "id": id, "split": split }))
            .collect()
    }

    pub fn registration(&self) -> Registration {
        let tasks: Vec<Task> = self
            .frame()
            .into_iter()
            .filter_map(|fields| Task::new(fields).ok())
            .collect();
        Registration {
            language: 1,
            protocol: self.protocol(),
            frame: match self.open_fields() {
                Some(fields) => frame::open_digest(&fields),
                None => frame::digest(&tasks),
            },
            files: BTreeMap::new(),
        }
    }

    fn protocol(&self) -> Protocol {
        let command = || vec!["true".to_owned()];
        let last = self.arm_ids().pop();
        let arm = |id: String| Arm {
            executed: match self.elsewhere && Some(&id) == last.as_ref() {
                true => Executed::Elsewhere,
                false => Executed::Here,
            },
            id,
            command: command(),
            files: BTreeMap::new(),
            differs: Vec::new(),
            execution: execution(),
        };
        let control = |id: String| Control {
            id,
            command: command(),
            expect: Expect::AllResolved,
            outcome: "resolved".to_owned(),
        };
        let splits = [
            ("main".to_owned(), SplitKind::Confirmatory),
            ("pilot".to_owned(), SplitKind::Pilot),
        ];
        Protocol {
            language: 1,
            study: Study {
                id: "study".to_owned(),
                title: "a study".to_owned(),
                question: self.question.clone(),
                hypotheses: Vec::new(),
                kind: StudyKind::Confirmatory,
                supersedes: None,
            },
            open_fields: self.open_fields(),
            splits: Some(splits.into()),
            draw: Draw {
                method: DrawMethod::Listed,
                seed: Some(SEED.to_owned()),
                size: (!self.endless).then_some(self.tasks as u64),
                classes: Vec::new(),
                grows: self.grows,
            },
            arms: self.arm_ids().into_iter().map(arm).collect(),
            controls: self.control_ids().into_iter().map(control).collect(),
            allocation: self.allocation(),
            stages: gates::stages(&self.stages, self.fits),
            attempts: Attempts {
                per_slot: self.per_slot,
                rerun: self.rerun.clone(),
                rerun_on_request: self.rerun_on_request.clone(),
                stale_after: self.stale_after,
                late_report: self.late_report,
                voids_max: self.voids_max,
            },
            outage: self.outage.clone(),
            readings: vec![gates::quota(self.expires)],
            stops: self.stops.iter().map(gates::stop).collect(),
            holds: self.holds.iter().map(gates::hold).collect(),
            backoff: None,
            cutoff: self.cutoff,
            budgets: self.budgets.clone(),
            breaker: self.breaker.map(|failures| Breaker {
                failures,
                arms: self.guarded_arms(),
                external: self.breaker_external,
            }),
            switch: self.switch.then(|| "enabled".to_owned()),
            execution: execution(),
            preflight: self.preflight.then(command),
            probes: self.probe.map(gates::probe).into_iter().collect(),
            observation: Some(gates::observation()),
            claim: None,
            judge: Some(judge()),
            checkpoint: self.checked_arms(),
            outcomes: vec![Outcome {
                id: "resolved".to_owned(),
                kind: OutcomeKind::Binary,
                value: "report.pass".to_owned(),
                better: Better::Higher,
                missing: Some(0),
            }],
            scoring: Scoring {
                unjudged: Some("report.infra".to_owned()),
                on_timeout: self.on_timeout,
                on_error_stop: self.on_error_stop,
            },
            manipulation_check: BTreeMap::new(),
            artefacts: None,
            evidence: Vec::new(),
            actors: self.actors.then(|| "user".to_owned()).into_iter().collect(),
            analysis: looking::analysis(self),
            limitations: BTreeMap::new(),
        }
    }

    /// Returns the arms that the breaker names; none of them means all.
    pub fn guarded_arms(&self) -> Vec<String> {
        let named = usize::from(self.breaker_of_first);
        self.arm_ids().into_iter().take(named).collect()
    }

    /// Returns the arms whose runs have a check in their middle.
    pub fn checked_arms(&self) -> Vec<String> {
        let checked = usize::from(self.checkpoint);
        self.arm_ids().into_iter().take(checked).collect()
    }

    fn open_fields(&self) -> Option<BTreeMap<String, FieldKind>> {
        let fields = [("size".to_owned(), FieldKind::Integer)];
        self.open.then(|| fields.into())
    }

    fn allocation(&self) -> Allocation {
        Allocation {
            nest: self.nest,
            repeats: self.all_repeats(),
            arms: self.order,
            by: match self.by_counts {
                true => OrderBy::Counts,
                false => OrderBy::Plan,
            },
            block: self.block,
            serial: self.serial,
            runs_max: self.runs_max,
            run_seed: self.run_seed.then_some(RunSeed::Sha256TaskRepeat),
        }
    }
}

/// Returns the other name of a task, an arm or a control.
pub fn other_name(name: &str) -> String {
    match name {
        "a" => "zeta".to_owned(),
        "b" => "eta".to_owned(),
        "c" => "Mu".to_owned(),
        "oracle" => "Delphi".to_owned(),
        _ => {
            let (letter, number) = name.split_at(1);
            let number: u32 = number.parse().unwrap_or(0);
            format!("{}-{letter}", 9_u32.saturating_sub(number))
        }
    }
}

fn execution() -> Execution {
    Execution {
        workspace: Workspace::Empty,
        timeout: Some(Micros(60_000_000)),
        grace: Micros(10_000_000),
        env: BTreeMap::new(),
        env_pass: Vec::new(),
        requests: BTreeMap::new(),
        output_max: Bytes(1 << 20),
        memory_max: None,
        processes_max: None,
        cpu_time_max: None,
        free_space_min: None,
        containment: Containment::Pgroup,
        cleanup: None,
    }
}

/// A judge whose report says whether the task is resolved and whether the infrastructure failed.
fn judge() -> Judge {
    Judge {
        files: BTreeMap::new(),
        command: vec!["true".to_owned()],
        report: "report.json".to_owned(),
        schema: json!({
            "type": "object",
            "required": ["pass", "infra"],
            "properties": { "infra": { "type": "boolean" } },
        }),
        timeout: Micros(60_000_000),
    }
}
