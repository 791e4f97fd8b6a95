//! The rules, applied: which of them a command is answered by, and what may follow from what nobody
//! can see.

use super::actors;
use super::command::{Action, Cause, Command};
use super::durations;
use super::ending::{close, evidence_digest, expire, finish, observed, score};
use super::event::Event;
use super::evidence::Known;
use super::guards;
use super::hands;
use super::looks;
use super::observation::Facts;
use super::refusal::Refusal;
use super::rules::Rules;
use super::scoring::{self, Scores, Verdict};
use super::slice::{Run, Slice, State};
use super::start;
use super::tasks;
use crate::protocol::model::LateReport;
use crate::protocol::registration::Registration;
use crate::units::{Digest, RunId, Time};

/// The answer to a command: what happens, or the rule that says no.
///
/// No event at all means that the command says what is known already, and is not recorded.
pub type Ruling = Result<Vec<Event>, Refusal>;

/// Answers a command.
///
/// `rules` are those of the protocol that was opened last; a record begins without.
pub fn decide(rules: Option<&Rules>, slice: &Slice, command: &Command) -> Ruling {
    let at = command.at;
    let Some(rules) = rules else {
        return match &command.action {
            Action::Open { registration, .. } => open(None, slice, registration),
            _ => Err(Refusal::NotOpened {}),
        };
    };
    if !is_from_admitted(rules, command) {
        return Err(Refusal::ActorNotAdmitted {
            actor: command.actor.clone(),
        });
    }
    let ruling = match &command.action {
        Action::Open { registration, .. } => open(Some(rules), slice, registration),
        Action::Register { registration } => register(rules, slice, *registration),
        Action::Start {
            task,
            arm,
            executed,
        } => start::start(rules, slice, task, arm, executed, at),
        Action::Finish {
            run,
            ending,
            execution,
        } => {
            let clocks_are_right = command.clock.is_right() && slice.standing.clock.are_right();
            let facts = |run: &Run| {
                let execution = execution.as_ref();
                let known = Known {
                    run,
                    ending,
                    execution,
                    at,
                    clocks_are_right,
                };
                observed(rules, slice, known)
            };
            finish(rules, slice, *run, ending, at, facts)
        }
        Action::Score {
            run,
            diff,
            evidence,
        } => {
            let verdict = |run: &Run| {
                let task = rules.task_in(slice, &run.task);
                scoring::verdict(rules, task.as_deref(), run, evidence.as_ref())
            };
            let known = || evidence.as_ref().map(evidence_digest);
            score(rules, slice, *run, *diff, known, verdict)
        }
        Action::Close { run, cause, .. } => close(rules, slice, *run, *cause),
        Action::Expire { run } => expire(rules, slice, *run, at),
        Action::Checkpoint { run, passed, .. } => hands::checkpoint(rules, slice, *run, *passed),
        Action::Cost { run, cost } => hands::learn_cost(rules, slice, *run, *cost),
        Action::Retry { run } => hands::retry(rules, slice, *run),
        Action::Breaker { open } => hands::breaker(rules, slice, *open),
        Action::Session {} => guards::session(rules, slice, at),
        Action::Switch { text } => hands::switch(rules, slice, text.as_deref()),
        Action::Read { id, fields } => guards::read(rules, slice, id, fields),
        Action::Preflight { arm, status } => Ok(vec![Event::Preflighted {
            arm: arm.clone(),
            status: status.clone(),
        }]),
        Action::Probe { id, value } if slice.standing.probes.get(id) == Some(value) => {
            Ok(Vec::new())
        }
        Action::Probe { id, value } => Ok(vec![Event::Probed {
            id: id.clone(),
            value: value.clone(),
        }]),
        Action::AddTask { task } => tasks::add(rules, slice, task),
        Action::Draw { from, tasks } => tasks::draw(rules, slice, *from, tasks),
        Action::Void { block, .. } => hands::void(rules, slice, *block),
        Action::Deviate { arm, .. } => hands::deviate(rules, arm.as_deref()),
        Action::Anchor { entry, witness, .. } => {
            hands::anchor(slice, *entry, witness, &command.action)
        }
        Action::Look { look, tasks, stops } => looks::take(rules, slice, *look, *tasks, *stops),
        Action::Conclude {} => conclude(rules, slice, at),
        Action::Unblind {} => Ok(vec![Event::Unblinded {}]),
    };
    durations::noted(rules, slice, at, ruling)
}

/// Returns whether a command comes from one who may write; what the registration alone decides is the engine's
/// own.
fn is_from_admitted(rules: &Rules, command: &Command) -> bool {
    let is_own = matches!(
        command.action,
        Action::Expire { .. } | Action::Look { .. } | Action::Conclude {}
    );
    is_own || actors::is_admitted(&rules.protocol().actors, &command.actor)
}

/// Returns the runs whose deadline a command notices; each is closed by an entry of its own before.
///
/// A start under an order by plan looks at the whole plan, so it notices every stale run; under an
/// order by counts it notices those of its task and arm; a report notices that its own run is stale.
/// What is not admitted notices nothing.
pub fn due(rules: Option<&Rules>, slice: &Slice, command: &Command) -> Vec<RunId> {
    let Some(rules) = rules.filter(|rules| is_from_admitted(rules, command)) else {
        return Vec::new();
    };
    let stale = |run: &RunId| {
        slice
            .standing
            .live
            .get(run)
            .is_some_and(|started_at| rules.is_stale(*started_at, command.at))
    };
    match &command.action {
        Action::Start { .. } if rules.stale(&slice.standing, command.at).next().is_none() => {
            Vec::new()
        }
        Action::Start {
            task,
            arm,
            executed,
        } => {
            let admitted = guards::admissible(rules, slice, task, arm, executed, command.at);
            match admitted {
                Ok(Some(_)) if rules.goes_by_counts() => {
                    let runs = slice.cell(task, arm).map(|run| run.run);
                    runs.filter(stale).collect()
                }
                Ok(Some(_)) => rules.stale(&slice.standing, command.at).collect(),
                _ => Vec::new(),
            }
        }
        Action::Finish { run, .. } | Action::Score { run, .. } | Action::Close { run, .. } => {
            let refuses = rules.protocol().attempts.late_report == LateReport::Refuse;
            if refuses && stale(run) {
                vec![*run]
            } else {
                Vec::new()
            }
        }
        _ => Vec::new(),
    }
}

fn open(rules: Option<&Rules>, slice: &Slice, registration: &Registration) -> Ruling {
    let found = registration.digest();
    if slice.standing.opened == Some(found) {
        return Ok(Vec::new());
    }
    match (slice.standing.registered, rules) {
        (Some(registered), Some(rules)) => {
            let differs = rules.registration().differences(registration);
            Err(Refusal::RegistrationDiffers {
                registered,
                found,
                differs,
            })
        }
        _ => Ok(vec![Event::Opened {
            registration: found,
            draft: slice.standing.draft + 1,
        }]),
    }
}

fn register(rules: &Rules, slice: &Slice, registration: Digest) -> Ruling {
    let opened = rules.digest();
    if slice.standing.registered == Some(registration) {
        return Ok(Vec::new());
    }
    if registration != opened {
        return Err(Refusal::NotOpenedLast { opened });
    }
    Ok(vec![Event::Registered {
        registration,
        slots: rules.plan_of(slice, true).len(),
    }])
}

pub(super) fn known(slice: &Slice, run: RunId) -> Result<&Run, Refusal> {
    slice.run(run).ok_or(Refusal::UnknownRun { run })
}

/// Returns a run that is not closed.
pub(super) fn open_run(slice: &Slice, run: RunId) -> Result<&Run, Refusal> {
    let found = known(slice, run)?;
    match (found.state, found.cause, found.closed_at) {
        (_, Some(Cause::Stale), Some(closed)) => Err(Refusal::Stale { run, closed }),
        (state @ (State::Scored | State::Unjudged | State::Void), cause, _) => {
            Err(Refusal::AlreadyClosed { run, state, cause })
        }
        _ => Ok(found),
    }
}

/// Ends a study that a registered rule lets start nothing more, once no run is open.
fn conclude(rules: &Rules, slice: &Slice, at: Time) -> Ruling {
    let standing = &slice.standing;
    if standing.has_ended() {
        return Ok(Vec::new());
    }
    let open = standing.live.len() + standing.ended.len();
    match guards::stopped_by(rules, slice, at) {
        Some(rule) if standing.registered.is_some() && open == 0 => Ok(vec![Event::Stopped {
            code: rule.code().to_owned(),
        }]),
        _ => Err(Refusal::NotOver {}),
    }
}

/// Returns whether events are what some evidence, which is not known, could have led to.
pub fn could_follow(rules: &Rules, slice: &Slice, command: &Command, events: &[Event]) -> bool {
    let run = match &command.action {
        Action::Finish { run, ending, .. } => {
            let facts = |_: &Run| Facts::told(events);
            let given = finish(rules, slice, *run, ending, command.at, facts);
            let given = durations::noted(rules, slice, command.at, given);
            return given.is_ok_and(|given| given == events);
        }
        Action::Score { run, .. } => *run,
        _ => return false,
    };
    let verdict = match events.first() {
        Some(Event::Scored { outcomes, .. }) => {
            let outcomes = outcomes.clone().unwrap_or_default();
            let exposed = None;
            Verdict::Scored(Scores { outcomes, exposed })
        }
        Some(Event::Unjudged { cause, .. }) if is_of_evidence(*cause) => Verdict::Unjudged(*cause),
        _ => return false,
    };
    let given = score(rules, slice, run, None, || None, |_| verdict);
    let given = durations::noted(rules, slice, command.at, given);
    given.is_ok_and(|given| entry_of(&given) == entry_of(events))
}

/// Returns events without what an entry seals.
fn entry_of(events: &[Event]) -> Vec<Event> {
    let unsealed = |event: &Event| match event {
        Event::Scored { run, .. } => Event::Scored {
            run: *run,
            outcomes: None,
            exposed: None,
        },
        other => other.clone(),
    };
    events.iter().map(unsealed).collect()
}

fn is_of_evidence(cause: Cause) -> bool {
    matches!(
        cause,
        Cause::NoReport
            | Cause::BadReport
            | Cause::JudgeTimeout
            | Cause::JudgeError
            | Cause::Infra
            | Cause::OutcomeError
    )
}
