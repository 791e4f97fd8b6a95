//! The audit: reads entries in order, checks the chain, decides every command again, folds.
//!
//! It needs nothing but the entries: the first one carries the protocol and the tasks. It stops at
//! the first divergence. Where openings are withheld, scores cannot be computed again; everything
//! else still is, and the audit counts what it had to take on trust.

use std::borrow::Cow;
use std::collections::BTreeMap;

use super::anchor::expected::Stand;
use super::divergence::{Code, Divergence};
use super::entry::{self, Answer, Body, Entry, Head};
use crate::engine::command::{Action, Command};
use crate::engine::decide;
use crate::engine::event::Event;
use crate::engine::evolve;
use crate::engine::refusal::Refusal;
use crate::engine::rules::Rules;
use crate::engine::slice::Slice;
use crate::units::{Digest, Time};

/// An audit under way.
#[derive(Debug)]
pub struct Auditor {
    rules: Option<Rules>,
    slice: Slice,
    head: Head,
    rulings: u64,
    refusals: u64,
    withheld: u64,
    pilots_before_registration: u64,
    registered_at: Option<Time>,
    /// Whether every opening must be there.
    whole: bool,
}

/// How an entry is found again without reading all of them.
#[derive(Debug)]
pub struct Filed {
    /// The operation's key.
    pub key: String,
    /// The draft that the entry opened.
    pub draft: Option<u64>,
    /// What the entry says about the publication of a head.
    pub anchor: Option<Box<Action>>,
}

impl Default for Auditor {
    fn default() -> Self {
        Self {
            rules: None,
            slice: Slice::whole(),
            head: Head::EMPTY,
            rulings: 0,
            refusals: 0,
            withheld: 0,
            pilots_before_registration: 0,
            registered_at: None,
            whole: false,
        }
    }
}

/// What an audit that found nothing says.
#[derive(Debug)]
pub struct Audit {
    /// The newest entry.
    pub head: Head,
    /// How many rulings were derived again.
    pub rulings: u64,
    /// How many of them were refusals.
    pub refusals: u64,
    /// How many scores could not be computed again because their openings are withheld.
    pub withheld: u64,
    /// How many pilot runs came before the registration.
    pub pilots_before_registration: u64,
    /// When the protocol was registered.
    pub registered_at: Option<Time>,
    /// The rules of the protocol that was opened last.
    pub rules: Option<Rules>,
    /// What the entries say, folded.
    pub slice: Slice,
}

impl Auditor {
    /// Begins the audit of a record that withholds no opening.
    pub fn of_whole() -> Self {
        Self {
            whole: true,
            ..Self::default()
        }
    }

    /// Checks the next entry.
    pub fn check(&mut self, entry: &Entry) -> Result<Filed, Divergence> {
        let diverged = |code, message: String| Err(Divergence::new(code, entry.seq, message));
        if entry.seq != self.head.seq + 1 {
            let message = format!(
                "the entry is numbered {} and stands where {} belongs",
                entry.seq,
                self.head.seq + 1
            );
            return Err(Divergence::new(Code::Sequence, self.head.seq + 1, message));
        }
        if entry::digest(&self.head.digest, entry.seq, &entry.body) != entry.digest {
            return diverged(
                Code::Digest,
                "its digest does not follow from its body and the entry before".to_owned(),
            );
        }
        let body = match entry::read_body(&entry.body) {
            Ok(body) => body,
            Err(message) => return diverged(Code::BodyForm, message),
        };
        let Body {
            mut command,
            mut ruling,
            sealed,
        } = body;
        let withheld = match &entry.opening {
            Some(opening) => {
                if let Err((code, message)) = unseal(opening, &sealed, &mut command, &mut ruling) {
                    return diverged(code, message);
                }
                false
            }
            None if sealed.is_empty() => false,
            None if self.whole => {
                return diverged(
                    Code::Commitment,
                    "what it seals is not opened, and nothing is withheld here".to_owned(),
                );
            }
            None => true,
        };
        self.withheld += u64::from(withheld && is_scoring(&command.action, &ruling));
        self.rule(entry.seq, &command, &ruling, withheld)?;
        if !sealed
            .keys()
            .eq(self.sealed_names(&command, &ruling).iter())
        {
            return diverged(
                Code::Commitment,
                "what it seals is not what such an entry seals".to_owned(),
            );
        }
        let filed = Filed {
            key: command.key.clone(),
            draft: opened_draft(&ruling),
            anchor: anchored(&command, &ruling),
        };
        self.fold(command, ruling)
            .map_err(|message| Divergence::new(Code::BodyForm, entry.seq, message))?;
        self.head = Head {
            seq: entry.seq,
            digest: entry.digest,
        };
        Ok(filed)
    }

    /// Returns how the record stands as of the entry that was checked last.
    pub fn stand(&self) -> Stand<'_> {
        let study = self.rules.as_ref();
        Stand {
            head: self.head,
            study: study.map_or("", |rules| rules.protocol().study.id.as_str()),
            registered: self.slice.standing.registered,
        }
    }

    /// Returns the head of the entries that were checked.
    pub fn head(&self) -> Head {
        self.head
    }

    /// Returns what the entries that were checked say, folded.
    pub fn slice(&self) -> &Slice {
        &self.slice
    }

    /// Ends the audit.
    pub fn finish(self) -> Result<Audit, Divergence> {
        if self.head == Head::EMPTY {
            return Err(Divergence::new(
                Code::NotARecord,
                0,
                "the record has no entries",
            ));
        }
        Ok(Audit {
            head: self.head,
            rulings: self.rulings,
            refusals: self.refusals,
            withheld: self.withheld,
            pilots_before_registration: self.pilots_before_registration,
            registered_at: self.registered_at,
            rules: self.rules,
            slice: self.slice,
        })
    }

    /// Decides the command again and compares.
    fn rule(
        &mut self,
        seq: u64,
        command: &Command,
        recorded: &Answer,
        withheld: bool,
    ) -> Result<(), Divergence> {
        if command.at < self.slice.standing.at {
            return Err(Divergence::new(
                Code::TimeDecreases,
                seq,
                "it is earlier than the entry before",
            ));
        }
        if command.clock.behind.0 > 0 && command.at > self.slice.standing.at {
            return Err(Divergence::new(
                Code::ClockDiffers,
                seq,
                "it says that its clock lay behind the entry before, and is later than that",
            ));
        }
        if seq == 1 && !matches!(command.action, Action::Open { .. }) {
            return Err(Divergence::new(
                Code::FirstEntry,
                seq,
                "the first entry does not open a protocol",
            ));
        }
        if let Some(run) = decide::due(self.rules.as_ref(), &self.slice, command).first() {
            let message = format!("the deadline of run {run} had passed, and no entry closed it");
            return Err(Divergence {
                rule: Some("/attempts/stale_after".into()),
                ..Divergence::new(Code::ExpiryMissing, seq, message)
            });
        }
        self.rulings += 1;
        let derived = decide::decide(self.rules.as_ref(), &self.slice, command);
        if withheld && self.follows(command, recorded) {
            return Ok(());
        }
        let derived = Answer::from(derived);
        if derived == *recorded && !matches!(recorded, Answer::Granted(events) if events.is_empty())
        {
            return Ok(());
        }
        let rule = match (&derived, recorded) {
            (Answer::Refused(refusal), _) | (_, Answer::Refused(refusal)) => refusal.rule(),
            (Answer::Granted(derived), Answer::Granted(recorded)) => {
                broken_by(&command.action, derived, recorded)
            }
        };
        let (says, say) = (told(recorded), told(&derived));
        let other = if says == say {
            ", with other facts"
        } else {
            ""
        };
        let message = format!("the record says {says}; the registered rules say {say}{other}");
        Err(Divergence {
            rule,
            ..Divergence::new(Code::RulingDiffers, seq, message)
        })
    }

    /// Returns whether an ending or a score is one that what is withheld could have given.
    fn follows(&self, command: &Command, recorded: &Answer) -> bool {
        match (self.rules.as_ref(), recorded) {
            (Some(rules), Answer::Granted(events)) => {
                decide::could_follow(rules, &self.slice, command, events)
            }
            _ => false,
        }
    }

    fn sealed_names(&self, command: &Command, ruling: &Answer) -> Vec<String> {
        let mut names: Vec<String> = command
            .action
            .sealed_name()
            .map(str::to_owned)
            .into_iter()
            .collect();
        if let Answer::Granted(events) = ruling
            && events
                .iter()
                .any(|event| matches!(event, Event::Scored { .. }))
        {
            let outcomes = self
                .rules
                .iter()
                .flat_map(|rules| &rules.protocol().outcomes);
            names.extend(outcomes.map(|outcome| format!("outcomes.{}", outcome.id)));
        }
        names.sort_unstable();
        names
    }

    /// Applies what happened; refuses a protocol whose tasks are not those that its frame binds.
    fn fold(&mut self, command: Command, ruling: Answer) -> Result<(), String> {
        let events = match ruling {
            Answer::Granted(events) => events,
            Answer::Refused(_) => {
                self.refusals += 1;
                evolve::refused(&mut self.slice, &command);
                return Ok(());
            }
        };
        if events
            .iter()
            .any(|event| matches!(event, Event::Registered { .. }))
        {
            self.pilots_before_registration = self.slice.standing.pilots;
            self.registered_at = Some(command.at);
        }
        evolve::apply(&mut self.slice, &command, &events);
        if let Action::Open {
            registration,
            tasks,
            ..
        } = &command.action
        {
            self.rules = Some(Rules::from_open(registration, tasks)?);
        }
        Ok(())
    }
}

/// Puts back what an entry seals, if it opens the entry's commitments.
fn unseal(
    opening: &str,
    sealed: &BTreeMap<String, Digest>,
    command: &mut Command,
    ruling: &mut Answer,
) -> Result<(), (Code, String)> {
    let form = |message| (Code::BodyForm, message);
    let opening = entry::read_opening(opening).map_err(form)?;
    if opening.commitments() != *sealed {
        let message = "a sealed value does not open its commitment";
        return Err((Code::Commitment, message.to_owned()));
    }
    entry::open(command, ruling, opening).map_err(form)
}

fn opened_draft(ruling: &Answer) -> Option<u64> {
    let Answer::Granted(events) = ruling else {
        return None;
    };
    events.iter().find_map(|event| match event {
        Event::Opened { draft, .. } => Some(*draft),
        _ => None,
    })
}

/// Returns what a command that was granted says about the publication of a head.
fn anchored(command: &Command, ruling: &Answer) -> Option<Box<Action>> {
    let is_one = matches!(
        (&command.action, ruling),
        (Action::Anchor { .. }, Answer::Granted(_))
    );
    is_one.then(|| Box::new(command.action.clone()))
}

/// Returns whether an entry's ruling was computed from evidence.
fn is_scoring(action: &Action, ruling: &Answer) -> bool {
    matches!((action, ruling), (Action::Score { .. }, Answer::Granted(_)))
}

/// Returns the rule that decides the first event in which what follows and what is said to differ.
fn broken_by(action: &Action, derived: &[Event], recorded: &[Event]) -> Option<Cow<'static, str>> {
    let same = derived.iter().zip(recorded).take_while(|(a, b)| a == b);
    let place = same.count();
    let differs = derived.get(place).or(recorded.get(place));
    let rule = differs.and_then(Event::rule)?;
    // What a person voids or asks for again is no outage.
    let by_hand = match action {
        Action::Void { .. } => Some("/attempts/voids_max"),
        Action::Retry { .. } => Some("/attempts/rerun_on_request"),
        _ => None,
    };
    Some(by_hand.filter(|_| rule == "/outage").unwrap_or(rule).into())
}

fn told(answer: &Answer) -> String {
    match answer {
        Answer::Refused(refusal @ Refusal::RegistrationDiffers { differs, .. }) => {
            format!("refused ({}: {})", refusal.code(), differs.join(", "))
        }
        Answer::Refused(refusal) => format!("refused ({})", refusal.code()),
        Answer::Granted(events) => match events.first() {
            Some(Event::Started { task, arm, .. }) => format!("granted (start {task} {arm})"),
            Some(Event::Unjudged { cause, .. }) => format!("unjudged ({})", cause.text()),
            Some(Event::Scored { .. }) => "scored".to_owned(),
            Some(_) => "granted".to_owned(),
            None => "nothing to record".to_owned(),
        },
    }
}
