//! What the world reports, and what follows from it: stops, holds and the opening of stages.
//!
//! The newest reading counts whole. One that may be out of date says nothing: unless its
//! `unknown_when` is false, all its fields are unknown. A rule that needs what is unknown does what
//! its word `unknown` says, and so does one whose expression fails.

use std::cell::OnceCell;
use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use super::apart::{About, Apart};
use super::scoring::fractional;
use crate::protocol::canonical;
use crate::protocol::defect::nearest;
use crate::protocol::expression::{Answer, Expression, Scope, Type};
use crate::protocol::model::{self, FieldKind, Protocol, StopScope, UnknownStop};
use crate::units::{EXACT_MAX, Time};

/// The conditions of a protocol, compiled.
#[derive(Debug)]
pub struct Conditions {
    readings: Vec<Reading>,
    stops: Vec<(model::Stop, Rule)>,
    holds: Vec<Rule>,
    /// The stages with what opens them.
    opens: Vec<(String, Option<Expression>)>,
    arms: Vec<String>,
}

/// Whom stops are asked for: one that is about an arm or a stage fires if it does for one of these.
#[derive(Clone, Copy, Debug, Default)]
pub struct Whom<'a> {
    /// The arms, by their ids.
    pub arms: &'a [&'a str],
    /// The stages, by their ids.
    pub stages: &'a [&'a str],
}

/// What conditions may read.
#[derive(Clone, Copy, Debug)]
pub struct World<'a> {
    /// The newest reading by its id, whole, as [`read`] returned it; one that was never read is absent.
    pub readings: &'a BTreeMap<String, Map<String, Value>>,
    /// What was read of arms and stages apart.
    pub apart: &'a Apart,
    /// Whether every slot of a stage has ended, by the stage's id.
    pub complete: &'a BTreeMap<String, bool>,
    /// The time of the decision.
    pub now: Time,
}

/// A condition that says no.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fired {
    /// The rule's id, which is the code of what follows.
    pub id: String,
    /// The rule's place in its list, from 0.
    pub rule: usize,
    /// Until when starts wait; none where that is not known, and for what ends.
    pub until: Option<Time>,
    /// The figure that is shown beside the id, with three decimals.
    pub shows: Option<String>,
    /// Whether it fired because a needed reading is unknown.
    pub unknown: bool,
    /// Whether starts wait; otherwise what the rule is about has ended.
    pub holds: bool,
    /// The arm or the stage that it is about, where that is one alone.
    pub of: Option<String>,
}

/// A declared reading.
#[derive(Debug)]
struct Reading {
    id: String,
    fields: BTreeMap<String, FieldKind>,
    unknown_when: Option<Expression>,
}

/// What stops and holds have in common.
#[derive(Debug)]
struct Rule {
    id: String,
    when: Expression,
    until: Option<Expression>,
    shows: Option<Expression>,
    unknown: UnknownStop,
}

type Bindings = Map<String, Value>;

impl Conditions {
    /// Compiles a protocol that passed its checks.
    pub fn new(protocol: &Protocol) -> Result<Self, String> {
        let scope = scope(&protocol.readings);
        let readings = protocol.readings.iter().map(Reading::new);
        let stops = protocol
            .stops
            .iter()
            .map(|stop| Ok((stop.clone(), Rule::of_stop(stop, &scope)?)));
        let holds = protocol
            .holds
            .iter()
            .map(|hold| Rule::of_hold(hold, &scope));
        let opens = protocol.stages.iter().map(|stage| {
            Ok((
                stage.id.clone(),
                compile_if(stage.opens.as_deref(), &scope)?,
            ))
        });
        Ok(Self {
            readings: readings.collect::<Result<_, String>>()?,
            stops: stops.collect::<Result<_, String>>()?,
            holds: holds.collect::<Result<_, String>>()?,
            opens: opens.collect::<Result<_, String>>()?,
            arms: protocol.arms.iter().map(|arm| arm.id.clone()).collect(),
        })
    }

    /// Returns the first stop that fires for somebody among those that `applies` accepts, in the listed
    /// order.
    pub fn stop(
        &self,
        world: &World<'_>,
        whom: Whom<'_>,
        applies: impl Fn(&model::Stop) -> bool,
    ) -> Option<Fired> {
        let of_study = OnceCell::new();
        let fired = |place: usize, rule: &Rule, about: About<'_>| {
            let fired = match about {
                About::Study => {
                    let bindings = of_study.get_or_init(|| self.bindings(world, about));
                    rule.fired(place, false, bindings)
                }
                one => rule.fired(place, false, &self.bindings(world, one)),
            };
            fired.map(|fired| Fired {
                of: about.one().map(str::to_owned),
                ..fired
            })
        };
        let stops = self.stops.iter().enumerate();
        let mut stops = stops.filter(|(_, (stop, _))| applies(stop));
        stops.find_map(|(place, (stop, rule))| match stop.scope {
            StopScope::Study => fired(place, rule, About::Study),
            StopScope::Arm => {
                let mut arms = whom.arms.iter();
                arms.find_map(|arm| fired(place, rule, About::Arm(arm)))
            }
            StopScope::Stage => {
                let mut stages = whom.stages.iter();
                stages.find_map(|stage| fired(place, rule, About::Stage(stage)))
            }
        })
    }

    /// Returns the first hold that fires, in the listed order.
    pub fn hold(&self, world: &World<'_>) -> Option<Fired> {
        if self.holds.is_empty() {
            return None;
        }
        let bindings = self.bindings(world, About::Study);
        let mut holds = self.holds.iter().enumerate();
        holds.find_map(|(place, rule)| rule.fired(place, true, &bindings))
    }

    /// Returns whether no stop, whatever its time, and no hold fires now for any arm and for some
    /// stages: `gates.go`.
    pub fn go(&self, world: &World<'_>, stages: &[&str]) -> bool {
        let arms: Vec<&str> = self.arms.iter().map(String::as_str).collect();
        let whom = Whom {
            arms: &arms,
            stages,
        };
        self.stop(world, whom, |_| true).is_none() && self.hold(world).is_none()
    }

    /// Returns whether a stage is open; one whose `opens` is unknown or fails is not.
    pub fn opens(&self, stage: usize, world: &World<'_>) -> bool {
        let (id, opens) = match self.opens.get(stage) {
            Some((id, Some(opens))) => (id, opens),
            Some((_, None)) => return true,
            None => return false,
        };
        let mut bindings = self.bindings(world, About::Study);
        let go = self.go(world, &[id]);
        bindings.insert("gates".to_owned(), json!({ "go": go }));
        truth(opens, &bindings) == Some(true)
    }

    fn bindings(&self, world: &World<'_>, about: About<'_>) -> Bindings {
        let now = Value::from(world.now.precise());
        let readings = self.readings.iter().filter_map(|reading| {
            let newest = world.readings.get(&reading.id);
            let newest = world.apart.newest(&reading.id, newest, about);
            let says = reading.says(newest?, &now)?;
            Some((reading.id.clone(), says))
        });
        let stages = world
            .complete
            .iter()
            .map(|(id, complete)| (id.clone(), json!({ "complete": complete })));
        Map::from_iter([
            ("readings".to_owned(), Value::Object(readings.collect())),
            ("stages".to_owned(), Value::Object(stages.collect())),
            ("now".to_owned(), now),
        ])
    }
}

impl Reading {
    fn new(reading: &model::Reading) -> Result<Self, String> {
        let scope = Scope::from([
            ("reading".to_owned(), declared(reading)),
            ("now".to_owned(), Type::Time),
        ]);
        Ok(Self {
            id: reading.id.clone(),
            fields: reading.fields.clone(),
            unknown_when: compile_if(reading.unknown_when.as_deref(), &scope)?,
        })
    }

    /// Returns the fields that expressions may read; none if the reading may be out of date.
    fn says(&self, fields: &Map<String, Value>, now: &Value) -> Option<Value> {
        // The record spells 1.0 as 1; here a number has a fraction, as its check took for granted.
        let typed = |(name, value): (&String, &Value)| match self.fields.get(name) {
            Some(FieldKind::Number) => (name.clone(), fractional(value.clone())),
            _ => (name.clone(), value.clone()),
        };
        let fields = Value::Object(fields.iter().map(typed).collect());
        let Some(unknown_when) = &self.unknown_when else {
            return Some(fields);
        };
        let mut bindings = Map::from_iter([
            ("reading".to_owned(), fields),
            ("now".to_owned(), now.clone()),
        ]);
        let is_known = truth(unknown_when, &bindings) == Some(false);
        bindings.remove("reading").filter(|_| is_known)
    }
}

impl Rule {
    fn of_stop(stop: &model::Stop, scope: &Scope) -> Result<Self, String> {
        Ok(Self {
            id: stop.id.clone(),
            when: Expression::compile(&stop.when, scope)?,
            until: None,
            shows: compile_if(stop.shows.as_deref(), scope)?,
            unknown: stop.unknown,
        })
    }

    fn of_hold(hold: &model::Hold, scope: &Scope) -> Result<Self, String> {
        Ok(Self {
            id: hold.id.clone(),
            when: Expression::compile(&hold.when, scope)?,
            until: compile_if(hold.until.as_deref(), scope)?,
            shows: compile_if(hold.shows.as_deref(), scope)?,
            unknown: hold.unknown,
        })
    }

    /// Returns the rule as it says no; `waits` where it makes starts wait.
    fn fired(&self, place: usize, waits: bool, bindings: &Bindings) -> Option<Fired> {
        let fires = truth(&self.when, bindings);
        let holds = match (fires, self.unknown) {
            (Some(false), _) | (None, UnknownStop::Go) => return None,
            (Some(true), _) => waits,
            (None, UnknownStop::Hold) => true,
            (None, UnknownStop::Stop) => false,
        };
        let until = self.until.as_ref().filter(|_| holds);
        Some(Fired {
            id: self.id.clone(),
            rule: place,
            until: until.and_then(|until| value(until, bindings)?.as_str()?.parse().ok()),
            shows: self
                .shows
                .as_ref()
                .and_then(|shows| three_decimals(&value(shows, bindings)?)),
            unknown: fires.is_none(),
            holds,
            of: None,
        })
    }
}

/// Returns the types of what stops, holds and stages read, as far as times are concerned.
fn scope(readings: &[model::Reading]) -> Scope {
    let readings = readings
        .iter()
        .map(|reading| (reading.id.clone(), declared(reading)));
    Scope::from([
        ("readings".to_owned(), Type::closed(readings.collect())),
        ("now".to_owned(), Type::Time),
    ])
}

fn declared(reading: &model::Reading) -> Type {
    Type::closed(Type::declared(&reading.fields))
}

fn compile_if(text: Option<&str>, scope: &Scope) -> Result<Option<Expression>, String> {
    text.map(|text| Expression::compile(text, scope))
        .transpose()
}

/// Returns what an expression is, if it is known.
fn value(expression: &Expression, bindings: &Bindings) -> Option<Value> {
    match expression.evaluate(bindings) {
        Ok(Answer::Known(value)) => Some(value),
        Ok(Answer::Unknown) | Err(_) => None,
    }
}

/// Returns whether a condition is met, if that is known.
fn truth(condition: &Expression, bindings: &Bindings) -> Option<bool> {
    value(condition, bindings)?.as_bool()
}

fn three_decimals(figure: &Value) -> Option<String> {
    match figure.as_i64() {
        Some(whole) => Some(format!("{whole}.000")),
        None => figure.as_f64().map(|figure| format!("{figure:.3}")),
    }
}

/// Takes a reading as it was reported; refuses a field that is not declared, or of another type.
///
/// A time is RFC 3339 text or a number of seconds since 1970, and is kept as [`Time::precise`] text;
/// a number is kept as the record spells it. Null is absent.
pub fn read(reading: &model::Reading, fields: &Value) -> Result<Map<String, Value>, String> {
    let id = &reading.id;
    let Value::Object(fields) = fields else {
        return Err(format!(
            "the reading `{id}` is not a JSON object; report one with its fields"
        ));
    };
    let mut taken = Map::new();
    for (name, value) in fields {
        let Some(kind) = reading.fields.get(name) else {
            return Err(undeclared(reading, name));
        };
        if value.is_null() {
            continue;
        }
        let typed = typed(*kind, value).ok_or_else(|| {
            format!(
                "the field `{name}` of the reading `{id}` is of another type; report {}",
                wanted(*kind)
            )
        })?;
        taken.insert(name.clone(), typed);
    }
    Ok(taken)
}

fn undeclared(reading: &model::Reading, name: &str) -> String {
    let declared: Vec<&str> = reading.fields.keys().map(String::as_str).collect();
    let help = match nearest(name, declared.iter().copied()) {
        Some(near) => format!("did you mean `{near}`?"),
        None if declared.is_empty() => "it has none".to_owned(),
        None => format!("its fields are {}", declared.join(", ")),
    };
    format!("the reading `{}` has no field `{name}`; {help}", reading.id)
}

/// Returns a value as its field's type has it, or none where it is of another.
fn typed(kind: FieldKind, value: &Value) -> Option<Value> {
    match (kind, value) {
        (FieldKind::String, Value::String(_)) | (FieldKind::Boolean, Value::Bool(_)) => {
            Some(value.clone())
        }
        (FieldKind::Time, Value::String(text)) => {
            let time = text.parse::<Time>().ok();
            Some(time.filter(|time| *time >= Time(0))?.precise().into())
        }
        (FieldKind::Time, Value::Number(seconds)) => {
            Some(Time::from_seconds(&seconds.to_string())?.precise().into())
        }
        (FieldKind::Number, Value::Number(_)) => exact(value),
        (FieldKind::Integer, Value::Number(_)) => exact(value).filter(Value::is_i64),
        _ => None,
    }
}

/// Returns a number as the record spells it, if every reader of JSON agrees on it.
fn exact(number: &Value) -> Option<Value> {
    let number = number.as_f64()?;
    (number.abs() <= EXACT_MAX as f64).then(|| canonical::as_spelled(number))
}

fn wanted(kind: FieldKind) -> &'static str {
    match kind {
        FieldKind::Integer => "a whole number within 2^53 - 1",
        FieldKind::Number => "a number within 2^53 - 1",
        FieldKind::String => "a text",
        FieldKind::Boolean => "true or false",
        FieldKind::Time => "a time from 1970 on: \"2026-12-24T00:00:00Z\", or seconds since 1970",
    }
}

/// Returns whether each stage is open, or may still open, once all stages before it are complete.
pub(super) fn each_opens_after_those_before(stages: &[model::Stage]) -> bool {
    let open = |(place, stage): (usize, &model::Stage)| match stage.opens.as_deref() {
        Some(opens) => may_open(opens, &stages[..place], |_| true),
        None => true,
    };
    stages.iter().enumerate().all(open)
}

/// Returns the condition of a stage with all that it reads but stages left open: what the world says
/// and when may still let it open. `gates.go` is true, as nothing stops or holds.
pub(super) fn opens_by_stages(stages: &[model::Stage], place: usize) -> Option<String> {
    let opens = stages[place].opens.as_deref()?;
    if !opens.contains("readings") && !opens.contains("now") {
        return Some(opens.to_owned());
    }
    let before = &stages[..place];
    let named: Vec<usize> = (0..before.len())
        .filter(|stage| opens.contains(&before[*stage].id))
        .collect();
    // More stages than that in one condition: what they say is left out, too.
    let combinations = 1_u32.checked_shl(u32::try_from(named.len()).ok()?)?;
    if named.len() > NAMED_MAX {
        return None;
    }
    let open = (0..combinations).filter_map(|combination| {
        let is_complete = |stage: usize| {
            let place = named.iter().position(|named| *named == stage);
            place.is_some_and(|place| combination >> place & 1 == 1)
        };
        may_open(opens, before, is_complete).then(|| {
            let said = named.iter().map(|stage| {
                let not = if is_complete(*stage) { "" } else { "!" };
                format!("{not}stages['{}'].complete", before[*stage].id)
            });
            let said: Vec<String> = said.collect();
            if said.is_empty() {
                "true".to_owned()
            } else {
                said.join(" && ")
            }
        })
    });
    let open: Vec<String> = open.collect();
    Some(if open.is_empty() {
        "false".to_owned()
    } else {
        open.join(" || ")
    })
}

/// How many stages a condition may name for each combination of them to be looked at.
const NAMED_MAX: usize = 6;

/// Returns whether a condition is met, or may be, where some stages are complete.
fn may_open(opens: &str, stages: &[model::Stage], is_complete: impl Fn(usize) -> bool) -> bool {
    let said = stages.iter().enumerate();
    let said =
        said.map(|(place, stage)| (stage.id.clone(), json!({ "complete": is_complete(place) })));
    let bindings = Map::from_iter([
        ("stages".to_owned(), Value::Object(said.collect())),
        ("gates".to_owned(), json!({ "go": true })),
    ]);
    let compiled = compile_if(Some(opens), &Scope::new());
    let compiled = compiled.ok().flatten();
    compiled.is_none_or(|opens| truth(&opens, &bindings) != Some(false))
}
