//! The checker: from a text to a protocol that cannot be wrong, or to all its defects at once.
//!
//! Shape first (`shape`), then meaning, table by table; each finding goes on one pile. What lies
//! where the shape already refused something is dropped, so that one slip makes one defect.
//!
//! - the tables: `design`, `execution`, `observed`, `judgement`, `analysis`, `comparison`, `descriptive`, `attempts`, `rules`;
//! - what stands in many tables: `names`, `literals`, `expressions`, `templates`, `files`, `secret`;
//! - the whole: `differences` of arms, `weakness` and `few_tasks`, `enforced`;
//! - `told`: in which order findings are told.

mod analysis;
mod attempts;
mod comparison;
mod comparison_defaults;
mod descriptive;
mod design;
mod differences;
mod enforced;
mod execution;
mod expressions;
mod few_tasks;
mod files;
mod judgement;
mod literals;
mod names;
mod observed;
mod rules;
mod secret;
mod templates;
mod told;
mod weakness;

use std::collections::BTreeMap;

use serde_json::Value;

use super::defect::{Code, Defect, Place};
use super::draft::Draft;
use super::folder::Folder;
use super::frame::{self, Drawn, Task};
use super::model::Protocol;
use super::registration::Registration;
use super::shape;
use super::source::{self, Source};
use crate::units::Digest;
pub use weakness::{is_weakness, not_found, way_out};

/// A protocol that passed, with everything that its registration binds.
#[derive(Clone, Debug)]
pub struct Checked {
    /// What is registered: protocol, frame, files.
    pub registration: Registration,
    /// The frame's tasks, in its order.
    pub tasks: Vec<Task>,
    /// Which of them are used, and for what.
    pub drawn: Drawn,
    /// Places of the keys that the language knows and this version cannot enforce.
    pub unenforced: Vec<Place>,
}

/// Checks a protocol file.
///
/// `folder` is the folder that the file stands in. Returns every defect, in the order of the file.
pub fn check(bytes: &[u8], folder: &dyn Folder) -> Result<Checked, Vec<Defect>> {
    let text = read_text(bytes).map_err(|defect| vec![*defect])?;
    let source = Source::read(text)?;
    let shape = shape::check(source.value());
    let mut checker = Checker {
        folder,
        defects: Vec::new(),
        refused: shape.refused,
        files: BTreeMap::new(),
    };
    checker.no_secrets(source.value());
    let checked = match read_draft(shape.rest) {
        Ok(draft) => checker.meaning(&draft, source.value()),
        Err(defect) => {
            // What the shape refused may be too much for the rest; only a surprise is told.
            if shape.defects.is_empty() {
                checker.push(*defect);
            }
            None
        }
    };
    let mut defects = shape.defects;
    defects.append(&mut checker.defects);
    match checked {
        Some(checked) if defects.is_empty() => Ok(checked),
        _ => Err(told::in_order(defects, text, &source)),
    }
}

/// Returns a table's meaning where there is one; nothing where it was refused.
fn all_or_none<T>(given: bool, meaning: Option<T>) -> Option<Option<T>> {
    (given == meaning.is_some()).then_some(meaning)
}

/// Reads the draft types; what they refuse and the schema does not is a defect all the same.
fn read_draft(value: Value) -> Result<Draft, Box<Defect>> {
    serde_path_to_error::deserialize(value).map_err(|error| {
        let mut pointer = String::new();
        for segment in error.path() {
            pointer = source::child(&pointer, segment);
        }
        let message = "the value cannot stand here; see the manual for what can";
        Box::new(Defect::new(Code::Type, Place::Value(pointer), message))
    })
}

fn read_text(bytes: &[u8]) -> Result<&str, Box<Defect>> {
    let refuse = |code, at: usize, message: &str| {
        Err(Box::new(Defect::new(code, Place::Span(at..at), message)))
    };
    if bytes.len() > source::TEXT_MAX {
        return refuse(
            Code::TooLarge,
            0,
            "the file is larger than 256 KiB; keep task data in the frame",
        );
    }
    match std::str::from_utf8(bytes) {
        Err(error) => refuse(
            Code::Encoding,
            error.valid_up_to(),
            "the file is not UTF-8 text; save it as UTF-8",
        ),
        Ok(text) if text.starts_with('\u{feff}') => refuse(
            Code::Encoding,
            0,
            "the file begins with a byte order mark; save it without",
        ),
        Ok(text) => Ok(text),
    }
}

/// The pile of findings, and the folder that may be asked.
struct Checker<'a> {
    folder: &'a dyn Folder,
    defects: Vec<Defect>,
    /// JSON pointers of what the shape refused.
    refused: Vec<String>,
    files: BTreeMap<String, Digest>,
}

/// How many defects of one kind are shown for one place before the rest is only counted.
const SHOWN_MAX: usize = 3;

impl Checker<'_> {
    fn meaning(&mut self, draft: &Draft, value: &Value) -> Option<Checked> {
        let unenforced = enforced::unenforced(draft);
        let tasks = self.tasks(draft);
        let protocol = self.protocol(draft, &tasks)?;
        let drawn = frame::draw(&protocol, &tasks);
        if !tasks.is_empty() {
            self.files_of_tasks(&protocol, &tasks, &drawn);
        }
        let analysis = protocol.analysis.as_ref();
        self.looks_apart(analysis, drawn.confirmatory.len());
        self.resampled(draft, analysis, &tasks, &drawn.confirmatory);
        self.weaknesses(draft, &protocol, &tasks, &drawn, value);
        let frame = match &protocol.open_fields {
            Some(fields) => frame::open_digest(fields),
            None => frame::digest(&tasks),
        };
        let registration = Registration {
            language: protocol.language,
            protocol,
            frame,
            files: std::mem::take(&mut self.files),
        };
        Some(Checked {
            registration,
            tasks,
            drawn,
            unenforced,
        })
    }

    fn protocol(&mut self, draft: &Draft, tasks: &[Task]) -> Option<Protocol> {
        let scopes = self.scopes(draft, tasks);
        let allocation = self.allocation(draft);
        let execution = self.execution(draft);
        let arms = self.arms(draft, &execution);
        let controls = self.controls(draft);
        let outcomes = self.outcomes(draft, &scopes);
        let claim = self.claim(draft);
        let judge = self.judge(draft);
        let scoring = self.scoring(draft, &scopes);
        let rule_scope = self.rule_scope(draft);
        let stages = self.stages(draft, &rule_scope);
        let outage = self.outage(draft);
        let readings = self.readings(draft);
        self.rule_ids(draft);
        let stops = self.stops(draft, &rule_scope);
        let holds = self.holds(draft, &rule_scope);
        let backoff = self.backoff(draft);
        let cutoff = self.cutoff(draft);
        let budgets = self.budgets(draft);
        let breaker = self.breaker(draft);
        let switch = self.switch(draft);
        let preflight = self.preflight(draft);
        let probes = self.probes(draft);
        let observation = self.observation(draft, &scopes);
        let checkpoint = self.checkpoint(draft);
        let manipulation_check = self.manipulation_check(draft, &scopes);
        let artefacts = self.artefacts(draft);
        let evidence = self.evidence(draft);
        let actors = self.actors(draft);
        self.templates(draft, tasks);
        let attempts = self.attempts(draft);
        let analysis = self.analysis(draft, tasks);
        let protocol = Protocol {
            language: draft.language,
            study: self.study(draft),
            open_fields: draft.tasks.fields.clone(),
            splits: draft.tasks.splits.clone(),
            draw: self.draw(draft, tasks),
            arms,
            controls,
            allocation: allocation?,
            stages: stages?,
            attempts,
            outage: all_or_none(draft.outage.is_some(), outage)?,
            readings,
            stops,
            holds,
            backoff: all_or_none(draft.backoff.is_some(), backoff)?,
            cutoff: all_or_none(draft.cutoff.is_some(), cutoff)?,
            budgets: budgets?,
            breaker,
            switch,
            execution,
            preflight,
            probes,
            observation,
            claim,
            judge,
            checkpoint,
            outcomes,
            scoring,
            manipulation_check,
            artefacts,
            evidence,
            actors,
            analysis,
            limitations: draft.limitations.clone(),
        };
        self.deadlines(&protocol);
        Some(protocol)
    }

    /// Puts a finding on the pile, unless it lies where the shape already refused something.
    fn push(&mut self, defect: Defect) {
        let pointer = match &defect.place {
            Place::Key(pointer) | Place::Value(pointer) | Place::Within(pointer, _)
                if defect.file.is_none() =>
            {
                pointer.as_str()
            }
            _ => "",
        };
        if !self.was_refused(pointer) {
            self.defects.push(defect);
        }
    }

    /// Returns whether the shape refused a place, or one around it.
    fn was_refused(&self, pointer: &str) -> bool {
        shape::within(&self.refused, pointer)
    }

    /// Refuses a table that lacks a key which only sometimes is required.
    fn missing(&mut self, table: &str, key: &str, why: &str) {
        if self.was_refused(&source::child(table, key)) {
            return;
        }
        let message = match source::table_name(table) {
            Some(name) => format!("`{name}` needs the key `{key}`"),
            None => format!("the protocol needs `{key}`"),
        };
        let place = match table {
            "" => Place::File,
            table => Place::Key(table.to_owned()),
        };
        self.push(Defect::new(Code::MissingKey, place, message).note(format!("{key}: {why}")));
    }

    fn refuse(&mut self, code: Code, place: Place, message: impl Into<String>) {
        self.push(Defect::new(code, place, message));
    }
}
