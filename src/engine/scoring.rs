//! What a run's evidence means: a verdict, computed by the engine and nobody else.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use jsonschema::Validator;
use serde_json::{Map, Value, json};

use super::command::{Cause, Evidence, Judged};
use super::event::Outcomes;
use super::reads::{Reads, facts};
use super::rules::Rules;
use super::slice::Run;
use crate::protocol::canonical;
use crate::protocol::expression::{Answer, Expression, Scope};
use crate::protocol::frame::Task;
use crate::protocol::model::{FieldKind, OutcomeKind, Protocol};
use crate::protocol::shape;
use crate::units::millionths;

/// The largest report or claim that is read, in bytes.
pub const EVIDENCE_MAX: usize = 1024 * 1024;

/// What a run's evidence means.
#[derive(Clone, Debug, PartialEq)]
pub enum Verdict {
    /// What it achieved.
    Scored(Scores),
    /// No outcomes, and why.
    Unjudged(Cause),
}

/// What a run that is scored has achieved.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Scores {
    /// The outcomes, null where a value is missing.
    pub outcomes: Outcomes,
    /// Whether it was exposed to what its arm stands for, where the protocol checks that of an arm; null
    /// where that is unknown, or not checked of this one.
    pub exposed: Option<Value>,
}

/// The protocol's expressions and the report's schema, compiled.
#[derive(Debug)]
pub struct Scorer {
    done: Option<Expression>,
    schema: Option<Validator>,
    unjudged: Option<Expression>,
    outcomes: Vec<(String, OutcomeKind, Expression)>,
    /// Of each arm, whether a run was exposed to what it stands for.
    exposed: BTreeMap<String, Expression>,
    fractional: BTreeSet<String>,
    /// What all these read.
    reads: Reads,
}

impl Scorer {
    /// Compiles a protocol that passed its checks.
    pub fn new(protocol: &Protocol, fractional: &BTreeSet<String>) -> Result<Self, String> {
        let compile = |text: &str| Expression::compile(text, &Scope::new());
        let schema = protocol
            .judge
            .as_ref()
            .map(|judge| jsonschema::options().offline().build(&judge.schema));
        let unjudged = protocol.scoring.unjudged.as_deref();
        let unjudged = unjudged.map(compile).transpose()?;
        let outcomes: Vec<(String, OutcomeKind, Expression)> = protocol
            .outcomes
            .iter()
            .map(|outcome| Ok((outcome.id.clone(), outcome.kind, compile(&outcome.value)?)))
            .collect::<Result<_, String>>()?;
        let exposed: BTreeMap<String, Expression> = protocol
            .manipulation_check
            .iter()
            .map(|(arm, text)| Ok((arm.clone(), compile(text)?)))
            .collect::<Result<_, String>>()?;
        let of_outcomes = outcomes.iter().map(|(_, _, value)| value);
        let reads = Reads::of(of_outcomes.chain(&unjudged).chain(exposed.values()));
        Ok(Self {
            done: protocol
                .claim
                .as_ref()
                .map(|claim| compile(&claim.done))
                .transpose()?,
            schema: schema.transpose().map_err(|error| error.to_string())?,
            unjudged,
            outcomes,
            exposed,
            reads,
            fractional: match &protocol.open_fields {
                Some(fields) => declared_numbers(fields),
                None => fractional.clone(),
            },
        })
    }

    /// Returns a task's fields; a field that is a fraction in some task is one in every task.
    fn task(&self, task: &Task) -> Value {
        let mut fields = task.fields.clone();
        for name in &self.fractional {
            if let Some(field) = fields.get_mut(name) {
                *field = fractional(field.take());
            }
        }
        fields
    }

    /// Reads a report strictly and checks it against its schema; returns what is wrong with it.
    pub fn read_report(&self, text: &[u8]) -> Result<Value, ReportFault> {
        if text.len() > EVIDENCE_MAX {
            return Err(ReportFault {
                offset: 0,
                pointer: None,
                message: "the report is larger than 1 MiB".to_owned(),
            });
        }
        let report = canonical::read(text).map_err(|fault| ReportFault {
            offset: fault.offset,
            pointer: None,
            message: fault.message,
        })?;
        let broken = self
            .schema
            .as_ref()
            .and_then(|schema| schema.iter_errors(&report).next());
        match broken {
            None => Ok(report),
            Some(error) => Err(ReportFault {
                offset: 0,
                pointer: Some(error.instance_path().to_string()),
                message: shape::in_words(&error),
            }),
        }
    }
}

/// Returns the fields of an open frame that may hold fractions.
fn declared_numbers(fields: &BTreeMap<String, FieldKind>) -> BTreeSet<String> {
    let numbers = fields
        .iter()
        .filter(|(_, kind)| **kind == FieldKind::Number);
    numbers.map(|(name, _)| name.clone()).collect()
}

/// What is wrong with a report.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReportFault {
    /// The byte at which reading stopped.
    pub offset: usize,
    /// For a report that can be read, which part of it breaks the schema.
    pub pointer: Option<String>,
    /// One plain sentence.
    pub message: String,
}

impl fmt::Display for ReportFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)?;
        match self.pointer.as_deref() {
            None | Some("") => Ok(()),
            Some(pointer) => write!(f, " (at {pointer})"),
        }
    }
}

/// Computes the verdict on an ended run.
pub fn verdict(
    rules: &Rules,
    task: Option<&Task>,
    run: &Run,
    evidence: Option<&Evidence>,
) -> Verdict {
    let nothing = Evidence::default();
    let evidence = evidence.unwrap_or(&nothing);
    match scored(rules, task, run, evidence) {
        Ok(scores) => Verdict::Scored(scores),
        Err(unscored) => Verdict::Unjudged(unscored.cause),
    }
}

/// Returns why the outcomes of a run could not be computed, for people; none where they could be,
/// or where the cause says it all.
pub fn outcome_fault(
    rules: &Rules,
    task: Option<&Task>,
    run: &Run,
    evidence: &Evidence,
) -> Option<String> {
    scored(rules, task, run, evidence).err()?.why
}

/// Why a run has no outcomes.
struct Unscored {
    cause: Cause,
    why: Option<String>,
}

impl From<Cause> for Unscored {
    fn from(cause: Cause) -> Self {
        Self { cause, why: None }
    }
}

impl Unscored {
    fn outcome_error(why: String) -> Self {
        Self {
            cause: Cause::OutcomeError,
            why: Some(why),
        }
    }
}

fn scored(
    rules: &Rules,
    task: Option<&Task>,
    run: &Run,
    evidence: &Evidence,
) -> Result<Scores, Unscored> {
    let scorer = rules.scorer();
    let scorer = scorer.map_err(|error| Unscored::outcome_error(error.to_owned()))?;
    outcomes(rules, task, scorer, run, evidence)
}

fn outcomes(
    rules: &Rules,
    task: Option<&Task>,
    scorer: &Scorer,
    run: &Run,
    evidence: &Evidence,
) -> Result<Scores, Unscored> {
    let mut bindings = Map::new();
    bindings.insert("run".to_owned(), facts(run, &scorer.reads));
    if let Some(task) = task.filter(|_| scorer.reads.root("task")) {
        bindings.insert("task".to_owned(), scorer.task(task));
    }
    let execution = run.execution.as_ref();
    let observed = execution.and_then(|execution| execution.observed.as_ref());
    if let Some(observed) = observed.filter(|_| scorer.reads.root("observed")) {
        bindings.insert("observed".to_owned(), observed.clone());
    }
    if let Some(done) = &scorer.done {
        bindings.insert("claim".to_owned(), claim(done, evidence.claim.as_deref()));
    }
    if let Some(judge) = &rules.protocol().judge {
        bindings.insert(
            "report".to_owned(),
            by_schema(report(scorer, evidence)?, &judge.schema),
        );
    }
    if let Some(unjudged) = &scorer.unjudged {
        let found = unjudged.evaluate(&bindings);
        let found =
            found.map_err(|error| Unscored::outcome_error(format!("`unjudged`: {error}")))?;
        if found == Answer::Known(Value::Bool(true)) {
            return Err(Cause::Infra.into());
        }
    }
    let exposed = exposed(scorer, &run.arm, &bindings)?;
    let mut outcomes = Outcomes::new();
    let mut known = Map::new();
    for (id, kind, expression) in &scorer.outcomes {
        if scorer.reads.root("outcomes") {
            bindings.insert("outcomes".to_owned(), Value::Object(known.clone()));
        }
        let fault = |why: &dyn fmt::Display| Unscored::outcome_error(format!("`{id}`: {why}"));
        let value = match expression
            .evaluate(&bindings)
            .map_err(|error| fault(&error))?
        {
            Answer::Unknown => Value::Null,
            Answer::Known(value) => {
                let typed = typed(*kind, &value)
                    .ok_or_else(|| fault(&format_args!("{value} is no value of this kind")))?;
                known.insert(id.clone(), fractional(value));
                typed
            }
        };
        outcomes.insert(id.clone(), value);
    }
    Ok(Scores { outcomes, exposed })
}

/// Returns whether a run of an arm was exposed to what the arm stands for, as the protocol checks it.
fn exposed(
    scorer: &Scorer,
    arm: &str,
    bindings: &Map<String, Value>,
) -> Result<Option<Value>, Unscored> {
    if scorer.exposed.is_empty() {
        return Ok(None);
    }
    let Some(check) = scorer.exposed.get(arm) else {
        return Ok(Some(Value::Null));
    };
    let fault =
        |why: &dyn fmt::Display| Unscored::outcome_error(format!("`manipulation_check`: {why}"));
    match check.evaluate(bindings).map_err(|error| fault(&error))? {
        Answer::Unknown => Ok(Some(Value::Null)),
        Answer::Known(flag @ Value::Bool(_)) => Ok(Some(flag)),
        Answer::Known(other) => Err(fault(&format_args!("{other} is neither true nor false"))),
    }
}

/// Returns what the arm claims. Without a claim it is not done; a claim that says neither yes nor no is unknown.
fn claim(done: &Expression, text: Option<&str>) -> Value {
    let Some(text) = text else {
        return json!({ "done": false });
    };
    let Ok(claim) = canonical::read(text.as_bytes()) else {
        return json!({});
    };
    let bindings = Map::from_iter([("claim".to_owned(), claim)]);
    match done.evaluate(&bindings) {
        Ok(Answer::Known(Value::Bool(done))) => json!({ "done": done }),
        Ok(Answer::Unknown | Answer::Known(_)) | Err(_) => json!({}),
    }
}

fn report(scorer: &Scorer, evidence: &Evidence) -> Result<Value, Cause> {
    match &evidence.judge {
        Some(Judged {
            timed_out: true, ..
        }) => return Err(Cause::JudgeTimeout),
        Some(Judged { exit, fault, .. }) if *exit != Some(0) || fault.is_some() => {
            return Err(Cause::JudgeError);
        }
        _ => {}
    }
    let text = evidence.report.as_deref().ok_or(Cause::NoReport)?;
    scorer
        .read_report(text.as_bytes())
        .map_err(|_| Cause::BadReport)
}

/// Returns a value as its outcome's kind, or none where it is of another.
///
/// Money is rounded half-even to micro-dollars.
fn typed(kind: OutcomeKind, value: &Value) -> Option<Value> {
    match (kind, value) {
        (OutcomeKind::Binary, Value::Bool(flag)) => Some(Value::Bool(*flag)),
        (OutcomeKind::Money, Value::Number(number)) => {
            millionths(&number.to_string()).map(Value::from)
        }
        (OutcomeKind::Number | OutcomeKind::Duration, Value::Number(number)) => {
            number.as_f64().map(canonical::as_spelled)
        }
        _ => None,
    }
}

/// Returns a number as one with a fraction, so that its spelling (`1` or `1.0`) does not matter.
pub(super) fn fractional(value: Value) -> Value {
    value.as_f64().map_or(value, Value::from)
}

/// Gives the numbers of a report the types that its schema declares: `1` is a fraction where the
/// schema says `number`, whoever wrote the report.
fn by_schema(value: Value, schema: &Value) -> Value {
    match value {
        Value::Number(_) if schema["type"] == "number" => fractional(value),
        Value::Array(items) => Value::Array(
            items
                .into_iter()
                .map(|item| by_schema(item, &schema["items"]))
                .collect(),
        ),
        Value::Object(fields) => {
            let typed = |(name, field): (String, Value)| {
                let field = by_schema(field, &schema["properties"][&name]);
                (name, field)
            };
            Value::Object(fields.into_iter().map(typed).collect())
        }
        other => other,
    }
}
