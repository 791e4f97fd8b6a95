//! The audit: reads entries in order, checks the chain, decides every command again, folds.
//!
//! It needs nothing but the entries: the first one carries the protocol and the tasks. It stops at
//! the first divergence. Where openings are withheld, scores cannot be computed again; everything
//! else still is, and the audit counts what it had to take on trust.

use std::borrow::Cow;

use super::anchor::expected::Stand;
use super::divergence::{Code, Divergence};
use super::entry::{Answer, EXPOSED, Head};
use super::reading::{Reading, Recorded, Said, Unread};
use super::receipt;
use super::shelf::{self, Shelf};
use crate::engine::command::{Action, Command};
use crate::engine::decide;
use crate::engine::event::{Event, LaneId};
use crate::engine::evolve;
use crate::engine::facts::FactKey;
use crate::engine::looks::{self, Due, Seen, SeenTask};
use crate::engine::refusal::Refusal;
use crate::engine::rules::Rules;
use crate::engine::slice::{Run, Slice, Standing};
use crate::engine::totals;
use crate::protocol::registration::Registration;
use crate::units::{Digest, RunId, Time};

/// An audit under way. It holds the rows that are under way, and puts the others on a shelf.
#[derive(Debug)]
pub struct Auditor<S> {
    rules: Option<Rules>,
    /// What a score seals beside its evidence, in order.
    outcomes: Vec<String>,
    slice: Slice,
    shelf: S,
    /// How many rows may be held before some are put away.
    held_max: usize,
    /// How many were held after that was done last.
    held_after: usize,
    head: Head,
    first: Option<Digest>,
    rulings: u64,
    refusals: u64,
    withheld: u64,
    /// Whether what was observed of some run is withheld.
    is_partial: bool,
    pilots_before_registration: u64,
    registered_at: Option<Time>,
}

/// Why an audit ends before the last entry.
#[derive(Debug)]
pub enum End<F> {
    /// An entry does not follow.
    Diverged(Divergence),
    /// The shelf is broken, and nothing can be said.
    Fault(F),
}

impl<F> From<Divergence> for End<F> {
    fn from(divergence: Divergence) -> Self {
        Self::Diverged(divergence)
    }
}

/// How an entry is found again without reading all of them.
#[derive(Debug)]
pub struct Filed<'e> {
    /// The operation's key.
    pub key: &'e str,
    /// The draft that the entry opened, and the text of its protocol.
    pub draft: Option<(u64, String)>,
    /// What the entry says about the publication of a head.
    pub anchor: Option<&'e Action>,
}

/// What an audit that found nothing says.
#[derive(Debug)]
pub struct Audit {
    /// The newest entry.
    pub head: Head,
    /// The digest of the first entry, which no other record has.
    pub first: Option<Digest>,
    /// How many rulings were derived again.
    pub rulings: u64,
    /// How many of them were refusals.
    pub refusals: u64,
    /// How many scores and looks could not be computed again because openings are withheld.
    pub withheld: u64,
    /// How many pilot runs came before the registration.
    pub pilots_before_registration: u64,
    /// When the protocol was registered.
    pub registered_at: Option<Time>,
    /// The rules of the protocol that was opened last.
    pub rules: Option<Rules>,
    /// What stands, and the rows that were in memory at the end.
    pub slice: Slice,
}

impl<S: Shelf> Auditor<S> {
    /// Begins an audit that puts rows away once so many are held.
    pub fn new(shelf: S, held_max: usize) -> Self {
        Self {
            rules: None,
            outcomes: Vec::new(),
            slice: Slice::whole(),
            shelf,
            held_max,
            held_after: 0,
            head: Head::EMPTY,
            first: None,
            rulings: 0,
            refusals: 0,
            withheld: 0,
            is_partial: false,
            pilots_before_registration: 0,
            registered_at: None,
        }
    }

    /// Checks the next entry, which was read with the digest of the newest before it, and has this body. What
    /// is kept of a protocol that it opens is taken out of it; all else stays.
    pub fn follow<'e>(
        &mut self,
        read: &'e mut Reading,
        body: &str,
    ) -> Result<Filed<'e>, End<S::Fault>> {
        let place = self.head.seq + 1;
        if read.seq != place {
            let message = format!(
                "the entry is numbered {} and stands where {place} belongs",
                read.seq
            );
            return Err(Divergence::new(Code::Sequence, place, message).into());
        }
        let said = read.said.as_mut();
        let said =
            said.map_err(|(code, message)| Divergence::new(*code, place, message.as_str()))?;
        let Said {
            command,
            ruling: recorded,
            sealed,
            withheld,
        } = &mut **said;
        let ruling = match recorded {
            Recorded::Read(ruling) => {
                self.agreed(place, command, ruling, *withheld)?;
                Cow::Borrowed(&*ruling)
            }
            Recorded::Unread(unread) => Cow::Owned(self.follows(place, command, unread, body)?),
        };
        self.is_partial |= *withheld && matches!(command.action, Action::Finish { .. });
        self.hold(place, &command.action, &ruling)?;
        if !self.seals(&command.action, &ruling, sealed) {
            let message = "what it seals is not what such an entry seals";
            return Err(Divergence::new(Code::Commitment, place, message).into());
        }
        let filed = self.fold(command, &ruling)?;
        self.first.get_or_insert(read.digest);
        self.head = Head {
            seq: read.seq,
            digest: read.digest,
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

    /// Returns the rules of the protocol that was opened last.
    pub fn rules(&self) -> Option<&Rules> {
        self.rules.as_ref()
    }

    /// Returns the head of the entries that were checked.
    pub fn head(&self) -> Head {
        self.head
    }

    /// Returns what stands as of the entries that were checked.
    pub fn standing(&self) -> &Standing {
        &self.slice.standing
    }

    /// Returns the digest of the first entry, which no other record has.
    pub fn first(&self) -> Option<Digest> {
        self.first
    }

    /// Returns how many runs, lanes and facts there are.
    pub fn counts(&self) -> (usize, usize, usize) {
        let (runs, lanes, facts) = self.slice.away.counts();
        (
            runs + self.slice.runs.len(),
            lanes + self.slice.lanes.len(),
            facts + self.slice.facts.len(),
        )
    }

    /// Returns a run as JSON, if there is such a run.
    pub fn run(&mut self, run: RunId) -> Result<Option<Cow<'_, [u8]>>, S::Fault> {
        shelf::run(&self.slice, &mut self.shelf, run)
    }

    /// Returns a lane as JSON, if it was ever opened.
    pub fn lane(&mut self, id: LaneId) -> Result<Option<Cow<'_, [u8]>>, S::Fault> {
        shelf::lane(&self.slice, &mut self.shelf, id)
    }

    /// Returns a fact as JSON, if there is one.
    pub fn fact(&mut self, key: &FactKey) -> Result<Option<Cow<'_, [u8]>>, S::Fault> {
        shelf::fact(&self.slice, &mut self.shelf, key)
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
            first: self.first,
            rulings: self.rulings,
            refusals: self.refusals,
            withheld: self.withheld,
            pilots_before_registration: self.pilots_before_registration,
            registered_at: self.registered_at,
            rules: self.rules,
            slice: self.slice,
        })
    }

    /// Asks a question about what stands.
    fn ask<T>(
        &mut self,
        question: impl Fn(Option<&Rules>, &Slice) -> T,
    ) -> Result<T, End<S::Fault>> {
        let Self {
            rules,
            slice,
            shelf,
            ..
        } = self;
        let question = |slice: &Slice| question(rules.as_ref(), slice);
        let mut take_back = |slice: &mut Slice, missing| shelf::take_back(slice, missing, shelf);
        slice.ask(question, &mut take_back).map_err(End::Fault)
    }

    /// Returns the ruling of an entry, if it is the one that follows.
    fn follows(
        &mut self,
        seq: u64,
        command: &Command,
        unread: &Unread,
        body: &str,
    ) -> Result<Answer, End<S::Fault>> {
        let derived = self.derived(seq, command)?;
        if let Some(derived) = derived.filter(|derived| unread.is(body, derived)) {
            self.rulings += 1;
            self.look_again(seq, &command.action, &derived)?;
            return Ok(derived);
        }
        let read = unread.read(body);
        let recorded = read.map_err(|(code, message)| Divergence::new(code, seq, message))?;
        self.agreed(seq, command, &recorded, false)?;
        Ok(recorded)
    }

    /// Refuses a ruling that was read and is not the one that follows.
    fn agreed(
        &mut self,
        seq: u64,
        command: &Command,
        recorded: &Answer,
        withheld: bool,
    ) -> Result<(), End<S::Fault>> {
        self.withheld += u64::from(withheld && is_scoring(&command.action, recorded));
        self.rule(seq, command, recorded, withheld)
    }

    /// Returns the ruling that a command should have, where it may stand here and something follows from it.
    fn derived(&mut self, seq: u64, command: &Command) -> Result<Option<Answer>, End<S::Fault>> {
        if self.in_time(seq, command).is_err() || self.due(command)?.is_some() {
            return Ok(None);
        }
        let derived = self.ask(|rules, slice| decide::decide(rules, slice, command))?;
        Ok(Some(Answer::from(derived)).filter(|derived| !is_nothing(derived)))
    }

    /// Returns a run whose deadline the command notices.
    fn due(&mut self, command: &Command) -> Result<Option<RunId>, End<S::Fault>> {
        self.ask(|rules, slice| decide::due(rules, slice, command).first().copied())
    }

    /// Decides the command again and compares.
    fn rule(
        &mut self,
        seq: u64,
        command: &Command,
        recorded: &Answer,
        withheld: bool,
    ) -> Result<(), End<S::Fault>> {
        self.in_time(seq, command)?;
        if let Some(run) = self.due(command)? {
            let message = format!("the deadline of run {run} had passed, and no entry closed it");
            return Err(End::Diverged(Divergence {
                rule: Some("/attempts/stale_after".into()),
                ..Divergence::new(Code::ExpiryMissing, seq, message)
            }));
        }
        self.rulings += 1;
        let derived = self.ask(|rules, slice| decide::decide(rules, slice, command))?;
        if withheld && self.ask(|rules, slice| could_follow(rules, slice, command, recorded))? {
            return Ok(());
        }
        let derived = Answer::from(derived);
        match derived == *recorded && !is_nothing(recorded) {
            true => self.look_again(seq, &command.action, recorded),
            false => Err(End::Diverged(differs(
                seq,
                &command.action,
                &derived,
                recorded,
            ))),
        }
    }

    /// Holds what an ending shows of its run to what is registered.
    fn hold(&mut self, seq: u64, action: &Action, recorded: &Answer) -> Result<(), End<S::Fault>> {
        let (
            Action::Finish {
                run,
                execution: Some(execution),
                ..
            },
            Answer::Granted(_),
        ) = (action, recorded)
        else {
            return Ok(());
        };
        let slip = self.ask(|rules, slice| {
            let (rules, run) = (rules?, slice.run(*run)?);
            let task = match &execution.program {
                Some(_) => rules.task_in(slice, &run.task),
                None => None,
            };
            receipt::differs(rules, task.as_deref(), run, execution)
        })?;
        match slip {
            None => Ok(()),
            Some(slip) => Err(slip.at(Code::ReceiptDiffers, seq).into()),
        }
    }

    /// Returns what a run that has ended does not show of how it was executed; nothing where what was
    /// observed of runs is withheld.
    pub fn lacks(&mut self, run: &Run) -> Result<Option<Divergence>, End<S::Fault>> {
        if self.is_partial {
            return Ok(None);
        }
        let slip = self.ask(|rules, slice| {
            let rules = rules?;
            let task = rules.task_in(slice, &run.task);
            receipt::lacks(rules, task.as_deref(), run)
        })?;
        Ok(slip.map(|slip| slip.at(Code::ReceiptMissing, 0)))
    }

    /// Computes again what a look that was taken came to.
    fn look_again(
        &mut self,
        seq: u64,
        action: &Action,
        recorded: &Answer,
    ) -> Result<(), End<S::Fault>> {
        let (Action::Look { look, tasks, stops }, Answer::Granted(_)) = (action, recorded) else {
            return Ok(());
        };
        let (look, tasks) = (*look, *tasks);
        let drawn =
            self.ask(|rules, slice| rules.map(|rules| rules.plan_of(slice, true).tasks()))?;
        let drawn = drawn.unwrap_or(0);
        let due = Due { look, tasks, drawn };
        let Some(rules) = self.rules.take() else {
            return Ok(());
        };
        let seen = Seen::of(due, |place| self.seen_task(&rules, place));
        let again = seen.map(|seen| seen.take(&rules));
        self.rules = Some(rules);
        match again? {
            None => self.withheld += 1,
            Some(again) if again == *action => {}
            Some(_) => return Err(End::Diverged(look_differs(seq, look, *stops))),
        }
        Ok(())
    }

    /// Returns a task that a look sees, and holds no more rows for it than before.
    fn seen_task(&mut self, rules: &Rules, place: u64) -> Result<SeenTask, End<S::Fault>> {
        let seen = self.ask(|_, slice| looks::of_task(rules, slice, place))?;
        self.make_room().map_err(End::Fault)?;
        Ok(seen)
    }

    /// Refuses an entry that is not of its time.
    fn in_time(&self, seq: u64, command: &Command) -> Result<(), Divergence> {
        let diverged = |code, message: &str| Err(Divergence::new(code, seq, message));
        if command.at < self.slice.standing.at {
            return diverged(Code::TimeDecreases, "it is earlier than the entry before");
        }
        if command.clock.behind.0 > 0 && command.at > self.slice.standing.at {
            return diverged(
                Code::ClockDiffers,
                "it says that its clock lay behind the entry before, and is later than that",
            );
        }
        if seq == 1 && !matches!(command.action, Action::Open { .. }) {
            return diverged(Code::FirstEntry, "the first entry does not open a protocol");
        }
        Ok(())
    }

    /// Returns whether an entry seals what such an entry does.
    fn seals(&self, action: &Action, ruling: &Answer, sealed: &[String]) -> bool {
        let is_score = |event: &Event| matches!(event, Event::Scored { .. });
        let is_scored = matches!(ruling, Answer::Granted(events) if events.iter().any(is_score));
        // In order: what an action seals is called something before `exposed`.
        let of_action = action.sealed_name().into_iter();
        let of_score = self.outcomes.iter().filter(|_| is_scored);
        let names = of_action.chain(of_score.map(String::as_str));
        sealed.iter().map(String::as_str).eq(names)
    }

    /// Applies what happened; refuses a protocol whose tasks are not those that its frame binds.
    fn fold<'e>(
        &mut self,
        command: &'e mut Command,
        ruling: &Answer,
    ) -> Result<Filed<'e>, End<S::Fault>> {
        let events = match ruling {
            Answer::Granted(events) => events,
            Answer::Refused(_) => {
                self.refusals += 1;
                evolve::refused(&mut self.slice, command);
                return Ok(Filed {
                    key: &command.key,
                    draft: None,
                    anchor: None,
                });
            }
        };
        let is_registration = |event: &Event| matches!(event, Event::Registered { .. });
        if events.iter().any(is_registration) {
            self.pilots_before_registration = self.slice.standing.pilots;
            self.registered_at = Some(command.at);
        }
        self.apply(command, events)?;
        self.make_room().map_err(End::Fault)?;
        let (mut draft, mut anchor) = (None, None);
        match &mut command.action {
            Action::Open {
                registration,
                tasks,
                text,
            } => {
                let form = |message| Divergence::new(Code::BodyForm, self.head.seq + 1, message);
                let registration = Registration::clone(registration);
                let tasks = std::mem::take(tasks);
                self.open(Rules::opened(registration, tasks).map_err(form)?);
                draft = Some((self.slice.standing.draft, std::mem::take(text)));
            }
            Action::Anchor { .. } => anchor = Some(&command.action),
            _ => {}
        }
        Ok(Filed {
            key: &command.key,
            draft,
            anchor,
        })
    }

    /// Folds what happened, and what it comes to.
    fn apply(&mut self, command: &Command, events: &[Event]) -> Result<(), End<S::Fault>> {
        let Self {
            rules,
            slice,
            shelf,
            ..
        } = self;
        let take_back = |slice: &mut Slice, missing| shelf::take_back(slice, missing, shelf);
        let applied = totals::apply(rules.as_ref(), slice, command, events, take_back);
        match applied.map_err(End::Fault)? {
            true => Ok(()),
            false => {
                // Whatever the fold looks at, the decision did before.
                let message = "the fold of an entry looked for a row that its decision had not";
                Err(End::Fault(S::broken(message.to_owned())))
            }
        }
    }

    fn open(&mut self, rules: Rules) {
        let outcomes = rules.protocol().outcomes.iter();
        self.outcomes = outcomes
            .map(|outcome| format!("outcomes.{}", outcome.id))
            .collect();
        if !rules.protocol().manipulation_check.is_empty() {
            self.outcomes.push(EXPOSED.to_owned());
        }
        self.outcomes.sort_unstable();
        self.rules = Some(rules);
    }

    /// Puts rows away once too many are held; so many may be under way that few can be.
    fn make_room(&mut self) -> Result<(), S::Fault> {
        if self.slice.held() >= self.held_max.max(2 * self.held_after) {
            shelf::put_away(&mut self.slice, &mut self.shelf)?;
            self.held_after = self.slice.held();
        }
        Ok(())
    }
}

/// Returns whether nothing follows from a command, which is not recorded then.
fn is_nothing(ruling: &Answer) -> bool {
    matches!(ruling, Answer::Granted(events) if events.is_empty())
}

/// Returns whether an ending or a score is one that what is withheld could have given.
fn could_follow(
    rules: Option<&Rules>,
    slice: &Slice,
    command: &Command,
    recorded: &Answer,
) -> bool {
    match (rules, recorded) {
        (Some(rules), Answer::Granted(events)) => {
            decide::could_follow(rules, slice, command, events)
        }
        _ => false,
    }
}

/// Says what a look comes to, and what the record says it did.
fn look_differs(seq: u64, look: u64, stops: bool) -> Divergence {
    let does = |stops: bool| if stops { "ends the study" } else { "goes on" };
    let message = format!(
        "the record says that look {look} {}; its outcomes say that it {}",
        does(stops),
        does(!stops)
    );
    Divergence {
        rule: Some("/analysis/looks".into()),
        ..Divergence::new(Code::LookDiffers, seq, message)
    }
}

/// Says how a ruling differs from the one that follows.
fn differs(seq: u64, action: &Action, derived: &Answer, recorded: &Answer) -> Divergence {
    let rule = match (derived, recorded) {
        (Answer::Refused(refusal), _) | (_, Answer::Refused(refusal)) => refusal.rule(),
        (Answer::Granted(derived), Answer::Granted(recorded)) => {
            broken_by(action, derived, recorded)
        }
    };
    let (says, say) = (told(recorded), told(derived));
    let other = if says == say {
        ", with other facts"
    } else {
        ""
    };
    let message = format!("the record says {says}; the registered rules say {say}{other}");
    Divergence {
        rule,
        ..Divergence::new(Code::RulingDiffers, seq, message)
    }
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
