//! What an arm's own output says of its run: error stops, costs, settings, readings.
//!
//! What is observed is sealed; what rules decide by is derived from it here and stands in the open.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use super::budget::Cost;
use super::command::{Cause, Ending, Execution};
use super::conditions;
use super::event::Event;
use super::reads::{self, Reads};
use super::settings::Settings;
use super::slice::Run;
use crate::protocol::expression::{Answer, Expression, Scope};
use crate::protocol::frame::Task;
use crate::protocol::model::{Protocol, Reading, ReadingFrom};

/// The expressions of a protocol that read what was observed, compiled.
#[derive(Debug)]
pub struct Observer {
    error_stop: Option<Expression>,
    cost: Option<Expression>,
    /// The settings that were used, by name.
    effective: BTreeMap<String, Expression>,
    /// Whether an ending counts as an error in its window.
    error: Option<Expression>,
    readings: Vec<Reading>,
    /// What all these read.
    reads: Reads,
}

/// What rules may decide by once a run has ended.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Facts {
    /// Whether an error of the world stopped it, where that can be told.
    pub(super) error_stop: Option<bool>,
    /// Whether that counts as an error in its window.
    pub(super) error: bool,
    /// What it cost.
    pub(super) cost: Cost,
    /// The settings that it used, as far as it says.
    pub(super) used: Settings,
    /// Whether it has left the evidence that it must have left.
    pub(super) evident: bool,
    /// The readings in its output.
    pub(super) readings: BTreeMap<String, Map<String, Value>>,
}

impl Facts {
    /// Takes the facts that events tell, where what was observed is withheld.
    pub(super) fn told(events: &[Event]) -> Self {
        let mut facts = Self {
            error_stop: None,
            error: false,
            cost: Cost::Unknown,
            used: Settings::new(),
            evident: true,
            readings: BTreeMap::new(),
        };
        for event in events {
            match event {
                Event::Ended {
                    error_stop,
                    cost,
                    used,
                    ..
                } => {
                    facts.error_stop = *error_stop;
                    facts.cost = *cost;
                    facts.used.clone_from(used);
                }
                Event::Unjudged {
                    cause: Cause::Evidence,
                    ..
                } => facts.evident = false,
                Event::Tallied { error, .. } => facts.error = *error,
                Event::Read { id, fields, .. } => {
                    facts.readings.insert(id.clone(), fields.clone());
                }
                _ => {}
            }
        }
        facts
    }
}

impl Observer {
    /// Compiles a protocol that passed its checks.
    pub fn new(protocol: &Protocol) -> Result<Self, String> {
        let scope = Scope::new();
        let compile = |text: Option<&str>| text.map(|text| Expression::compile(text, &scope));
        let observation = protocol.observation.as_ref();
        let error_stop = observation.and_then(|observation| observation.error_stop.as_deref());
        let cost = observation.and_then(|observation| observation.cost.as_deref());
        let error = protocol.outage.as_ref().map(|outage| outage.error.as_str());
        let effective = observation.iter().flat_map(|one| &one.effective);
        let effective: BTreeMap<String, Expression> = effective
            .map(|(name, text)| Ok((name.clone(), Expression::compile(text, &scope)?)))
            .collect::<Result<_, String>>()?;
        let error_stop = compile(error_stop).transpose()?;
        let cost = compile(cost).transpose()?;
        let error = compile(error).transpose()?;
        let all = effective.values().chain(&error_stop).chain(&cost);
        let reads = Reads::of(all.chain(&error));
        let readings = protocol.readings.iter();
        Ok(Self {
            effective,
            error_stop,
            cost,
            error,
            reads,
            readings: readings
                .filter(|reading| reading.from == ReadingFrom::Observation)
                .cloned()
                .collect(),
        })
    }

    /// Returns whether the protocol reads nothing of a run by an expression.
    fn is_silent(&self) -> bool {
        let expressions = [&self.error_stop, &self.cost, &self.error];
        self.effective.is_empty() && expressions.iter().all(|expression| expression.is_none())
    }

    /// Derives the facts of a run that ends.
    ///
    /// What the output says counts; what was reported beside it counts where the output says nothing.
    /// An expression that is unknown or fails tells no error stop and no setting; a cost that fails is
    /// unreadable. `requests` are the settings that the run was asked to use.
    pub(super) fn facts(
        &self,
        run: &Run,
        task: Option<&Task>,
        ending: &Ending,
        execution: Option<&Execution>,
        requests: &BTreeMap<String, String>,
    ) -> Facts {
        if self.is_silent() {
            return Facts {
                error_stop: ending.error_stop,
                error: false,
                cost: ending.cost.map_or(Cost::Unknown, Cost::Known),
                used: self.used(&Map::new(), requests),
                evident: true,
                readings: self
                    .readings(execution.and_then(|execution| execution.observed.as_ref())),
            };
        }
        let mut ended = run.clone();
        ended.ending = Some(ending.clone());
        ended.execution = execution.cloned();
        ended.error_stop = ending.error_stop;
        let observed = execution.and_then(|execution| execution.observed.as_ref());
        let mut bindings = Map::new();
        bindings.insert("run".to_owned(), reads::facts(&ended, &self.reads));
        bindings.extend(task.map(|task| ("task".to_owned(), task.fields.clone())));
        bindings.extend(observed.map(|observed| ("observed".to_owned(), observed.clone())));
        let flag = |expression: &Expression, bindings: &Map<String, Value>| match expression
            .evaluate(bindings)
        {
            Ok(Answer::Known(Value::Bool(flag))) => Some(flag),
            _ => None,
        };
        let said = self.error_stop.as_ref();
        let said = said.and_then(|expression| flag(expression, &bindings));
        let error_stop = said.or(ending.error_stop);
        ended.error_stop = error_stop;
        bindings.insert("run".to_owned(), reads::facts(&ended, &self.reads));
        let error = self.error.as_ref();
        let cost = match self.cost.as_ref().map(|cost| cost.evaluate(&bindings)) {
            Some(Ok(Answer::Known(cost))) => Cost::of(Some(&cost)),
            Some(Err(_)) if observed.is_some() => Cost::Unreadable,
            _ => Cost::Unknown,
        };
        Facts {
            error_stop,
            error: error
                .and_then(|error| flag(error, &bindings))
                .unwrap_or(false),
            cost: match (cost, ending.cost) {
                (Cost::Unknown, Some(cost)) => Cost::Known(cost),
                (cost, _) => cost,
            },
            used: self.used(&bindings, requests),
            evident: true,
            readings: self.readings(observed),
        }
    }

    /// Returns what the output says of each setting that is requested or told.
    fn used(&self, bindings: &Map<String, Value>, requests: &BTreeMap<String, String>) -> Settings {
        let unknown = requests.keys().map(|name| (name.clone(), Value::Null));
        let mut used: Settings = unknown.collect();
        for (name, expression) in &self.effective {
            let value = match expression.evaluate(bindings) {
                Ok(Answer::Known(value)) => value,
                _ => Value::Null,
            };
            used.insert(name.clone(), value);
        }
        used
    }

    /// Returns the readings in what was observed: the object that has a reading's name. One that is
    /// not as it was declared says nothing.
    fn readings(&self, observed: Option<&Value>) -> BTreeMap<String, Map<String, Value>> {
        let found = self.readings.iter().filter_map(|reading| {
            let fields = conditions::read(reading, observed?.get(&reading.id)?).ok()?;
            Some((reading.id.clone(), fields))
        });
        found.collect()
    }
}
