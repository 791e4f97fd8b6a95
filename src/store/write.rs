//! The one write path: decide, append and fold in one transaction, and save in it what is due.

use std::borrow::Cow;
use std::io::Read;
use std::sync::Arc;

use rusqlite::{Connection, TransactionBehavior};

use super::derived::{self, Derived};
use super::open::Durability;
use super::{Fault, Flush, Hold, Result, Store, current_rules, doubt, pace, rows};
use crate::engine::command::{Action, Clock, Command};
use crate::engine::decide::{self, Ruling};
use crate::engine::evolve;
use crate::engine::looks::{self, Due, Seen};
use crate::engine::refusal::Refusal;
use crate::engine::rules::Rules;
use crate::engine::slice::{Run, Seated, Slice, Standing, State};
use crate::engine::start::{self, Peek};
use crate::protocol::frame::Task;
use crate::record::entry::{self, Answer, Head};
use crate::record::version;
use crate::units::{Digest, Micros, RunId, Time};

/// Who acts where the registration alone decides.
const ENGINE: &str = "engine";
/// How many digits of a made up key are random for the process.
const PROCESS_DIGITS: usize = 24;
/// How many digits of it, or more, are counted.
const COUNT_DIGITS: usize = 8;

/// What somebody asks for.
#[derive(Clone, Debug)]
pub struct Request {
    /// Who.
    pub actor: String,
    /// The operation's identity; made up where none is given.
    pub key: Option<String>,
    /// The newest entry that the writer saw: what the action is about must not have changed since.
    pub expects: Option<u64>,
    /// What.
    pub action: Action,
}

impl Request {
    /// Returns what the engine itself asks for.
    pub fn of_engine(action: Action) -> Self {
        Self {
            actor: ENGINE.to_owned(),
            key: None,
            expects: None,
            action,
        }
    }
}

/// What came of a request.
#[derive(Clone, Debug)]
pub struct Response {
    /// The entry that says so; none where nothing needed to be recorded.
    pub seq: Option<u64>,
    /// When.
    pub at: Time,
    /// What happened, or the rule that said no.
    pub ruling: Ruling,
    /// Whether this is the first answer to the same operation, given again.
    pub repeated: bool,
    /// Runs whose deadline was noticed and recorded before.
    pub expired: Vec<RunId>,
}

impl Store {
    /// Does some work in one transaction, which is durable when this returns (in a session: once it
    /// has been flushed).
    ///
    /// A fault rolls everything back.
    pub fn write<T>(&mut self, work: impl FnOnce(&mut Writer<'_>) -> Result<T>) -> Result<T> {
        self.transact(work, |_| true)
    }

    /// Answers several requests in one transaction: all of them are granted, or nothing is recorded.
    ///
    /// The refusal that undid the rest comes last.
    pub fn write_all(&mut self, requests: Vec<Request>) -> Result<Vec<Response>> {
        let is_granted = |response: &Response| response.ruling.is_ok();
        let work = |writer: &mut Writer<'_>| {
            let mut answers = Vec::new();
            for request in requests {
                answers.push(writer.apply(request)?);
                if !answers.last().is_some_and(is_granted) {
                    break;
                }
            }
            Ok(answers)
        };
        self.transact(work, |answers| answers.iter().all(is_granted))
    }

    /// Does some work in one transaction; it is rolled back after a fault, and where what came of it
    /// is not to be kept.
    fn transact<T>(
        &mut self,
        work: impl FnOnce(&mut Writer<'_>) -> Result<T>,
        is_kept: impl FnOnce(&T) -> bool,
    ) -> Result<T> {
        let Hold { lock, place } = self
            .held
            .as_ref()
            .ok_or_else(|| Fault::NotFound(self.path.clone()))?;
        let held = lock.hold()?;
        let before = place.before(&self.connection)?;
        let transaction = self
            .connection
            .transaction_with_behavior(TransactionBehavior::Immediate)?;
        let head = rows::head(&transaction)?;
        let name = self.salts.next();
        // Taken: after a fault it is read anew.
        let derived = match self.cache.derived.take() {
            Some(derived) if derived.head == head => derived,
            _ => Derived::read(&transaction, &mut self.cache.rules)?,
        };
        let now = (self.clock)();
        self.pace.note(now);
        let mut writer = Writer {
            connection: &transaction,
            rules: &mut self.cache.rules,
            salts: &mut self.salts,
            now,
            jumped: self.pace.jumped,
            derived,
        };
        let done = work(&mut writer)?;
        if !is_kept(&done) {
            return Ok(done);
        }
        let jumped = writer.jumped;
        let mut derived = writer.derived;
        // The first rows do not lag: such as stand for no entry are taken for forged.
        if derived.lag() >= self.lag_max || head == Head::EMPTY {
            derived.save(&transaction)?;
        }
        place.mark(&before, &transaction, name)?;
        match transaction.commit() {
            Ok(()) => self.cache.derived = Some(derived),
            Err(error) => {
                let written = derived.head;
                let (path, durability) = (&self.path, self.durability);
                doubt::resolve(&mut self.connection, path, durability, error, written)?;
            }
        }
        self.pace.jumped = jumped;
        // What was done stands: a mark that cannot be written now guards less, and changes nothing.
        let _ = place.mark_if_restarted(&before, &self.connection, name);
        drop(held);
        Ok(done)
    }

    /// Compares the wall clock from now on with one that nobody sets.
    pub fn keep_pace(&mut self, steady: fn() -> Micros) {
        self.pace.keep_by(steady);
    }

    /// Begins a session: up to so many derived rows of a kind may lag behind the entries, and a
    /// write is durable only once what is returned has been flushed after it.
    pub fn begin_session(&mut self, lag_max: usize) -> Result<Flush> {
        // Makes the log, where there is none yet.
        self.settle()?;
        let flush = Flush::of(&self.path)?;
        self.be_durable(Durability::Flush)?;
        self.lag_max = lag_max;
        Ok(flush)
    }

    /// Ends a session: saves all derived rows, and makes every write durable by itself again.
    pub fn settle(&mut self) -> Result<()> {
        self.be_durable(Durability::Commit)?;
        self.lag_max = 0;
        self.write(|writer| writer.derived.save(writer.connection))
    }

    fn be_durable(&mut self, durability: Durability) -> Result<()> {
        self.durability = durability;
        self.connection
            .pragma_update(None, "synchronous", durability.synchronous())?;
        Ok(())
    }
}

/// A transaction under way.
pub struct Writer<'s> {
    connection: &'s Connection,
    rules: &'s mut Option<Arc<Rules>>,
    salts: &'s mut Salts,
    now: Time,
    /// By how much the clock was set, until an entry says so.
    jumped: i64,
    derived: Derived,
}

impl Writer<'_> {
    /// Answers a request and records the answer.
    pub fn apply(&mut self, request: Request) -> Result<Response> {
        let at = self.now.max(self.derived.slice.standing.at);
        // A key that was made up here is known to nobody who could repeat it.
        let given = request.key.is_some();
        let key = request.key.unwrap_or_else(|| self.salts.key());
        let command = Command {
            at,
            clock: Clock {
                behind: pace::behind(self.now, at),
                jumped: self.jumped,
            },
            actor: request.actor,
            key,
            action: request.action,
        };
        if given && let Some(first) = self.first_answer(&command)? {
            return Ok(first);
        }
        if let Some(seen) = request.expects
            && let Err(refusal) = version::guard(seen, self.version_since(seen, &command.action)?)
        {
            // Not recorded: what a writer saw is no part of a command, and nobody could derive it.
            return Ok(Response {
                seq: None,
                at,
                ruling: Err(refusal),
                repeated: false,
                expired: Vec::new(),
            });
        }
        let rules = self.rules()?;
        let expired = self.ask(|slice| decide::due(rules.as_deref(), slice, &command))?;
        for run in &expired {
            let expiry = Command {
                clock: Clock::default(),
                actor: ENGINE.to_owned(),
                key: self.salts.key(),
                action: Action::Expire { run: *run },
                ..command.clone()
            };
            let _ = self.answer(rules.as_deref(), &expiry)?;
        }
        let (seq, ruling) = self.answer(rules.as_deref(), &command)?;
        if let (Some(seq), true) = (seq, given) {
            rows::save_key(self.connection, &command.key, seq)?;
        }
        Ok(Response {
            seq,
            at,
            ruling,
            repeated: false,
            expired,
        })
    }

    /// Says what may start next in the registered plan.
    pub fn peek(&mut self) -> Result<Peek> {
        let Some(rules) = self.rules()? else {
            return Ok(Peek::Wait);
        };
        let at = self.now.max(self.derived.slice.standing.at);
        self.ask(|slice| start::peek(&rules, slice, at))
    }

    /// Takes the scheduled look that is due: computes what it comes to, and records that. Where none is due,
    /// the refusal is not recorded: nothing was looked at.
    pub fn look(&mut self) -> Result<Response> {
        let ruled = match self.rules()? {
            Some(rules) => self
                .ask(|slice| looks::due(&rules, slice))?
                .map(|due| (rules, due)),
            None => Err(Refusal::NotOpened {}),
        };
        match ruled {
            Ok((rules, due)) => {
                let action = self.computed(&rules, due)?;
                self.apply(Request::of_engine(action))
            }
            Err(refusal) => Ok(Response {
                seq: None,
                at: self.now,
                ruling: Err(refusal),
                repeated: false,
                expired: Vec::new(),
            }),
        }
    }

    /// Computes what a look comes to.
    fn computed(&mut self, rules: &Rules, due: Due) -> Result<Action> {
        let seen = Seen::of(due, |task| {
            self.ask(|slice| looks::of_task(rules, slice, task))
        })?;
        seen.take(rules).ok_or_else(|| Fault::Row {
            row: format!("outcomes at look {}", due.look),
            message: "the record does not have them".to_owned(),
        })
    }

    /// Ends the study if a rule has and no run is open; says whether it has ended. Otherwise nothing is recorded.
    pub fn conclude(&mut self) -> Result<bool> {
        let request = Request::of_engine(Action::Conclude {});
        let foreseen = self.foresee(&request.actor, &request.action)?;
        if foreseen.is_ok_and(|events| !events.is_empty()) {
            self.apply(request)?;
        }
        Ok(self.standing().has_ended())
    }

    /// Says which pilot slot may start next, in the order of the pilot plan.
    pub fn peek_pilot(&mut self) -> Result<Peek> {
        let Some(rules) = self.rules()? else {
            return Ok(Peek::Wait);
        };
        let at = self.now.max(self.derived.slice.standing.at);
        self.ask(|slice| start::peek_pilot(&rules, slice, at))
    }

    /// Says what the answer to an action would be, and records nothing.
    pub fn foresee(&mut self, actor: &str, action: &Action) -> Result<Ruling> {
        let rules = self.rules()?;
        let command = Command {
            at: self.now.max(self.derived.slice.standing.at),
            clock: Clock::default(),
            actor: actor.to_owned(),
            key: String::new(),
            action: action.clone(),
        };
        self.ask(|slice| decide::decide(rules.as_deref(), slice, &command))
    }

    /// Returns a task of the frame as it stands.
    pub fn task(&mut self, id: &str) -> Result<Option<Task>> {
        let Some(rules) = self.rules()? else {
            return Ok(None);
        };
        self.ask(|slice| rules.task_in(slice, id).map(Cow::into_owned))
    }

    /// Returns the runs that are unjudged, in order.
    pub fn unjudged_runs(&self) -> Result<Vec<RunId>> {
        let mut found = Vec::new();
        derived::each_run(self.connection, &self.derived, |kept| {
            let run: Seated<'_> = kept.part()?;
            if run.state == State::Unjudged {
                found.push(run.run);
            }
            Ok(true)
        })?;
        Ok(found)
    }

    /// Returns the rules of the protocol that was opened last.
    pub fn rules(&mut self) -> Result<Option<Arc<Rules>>> {
        current_rules(self.connection, self.rules, &self.derived.slice.standing)
    }

    /// Returns the standing.
    pub fn standing(&self) -> &Standing {
        &self.derived.slice.standing
    }

    /// Returns the newest run of a control on a task.
    pub fn newest_control(&self, task: &str, control: &str) -> Result<Option<Run>> {
        let changed =
            |run: &&Run| run.task == task && run.arm == control && self.derived.is_changed(run.run);
        let held = self.derived.slice.runs.values();
        let unsaved = held.filter_map(Option::as_deref).rfind(changed);
        let saved = rows::newest_control(self.connection, task, control)?;
        // Of the same run the unsaved row is the newer one.
        Ok(match (unsaved, saved) {
            (Some(unsaved), Some(saved)) if saved.run > unsaved.run => Some(saved),
            (Some(unsaved), _) => Some(unsaved.clone()),
            (None, saved) => saved,
        })
    }

    /// Returns the newest entry after one that changed what an action is about; that one itself where
    /// there is none, and the head of a record that is shorter.
    fn version_since(&self, seen: u64, action: &Action) -> Result<u64> {
        let head = self.derived.head.seq;
        for seq in (seen.saturating_add(1)..=head).rev() {
            let found = rows::entry(self.connection, seq)?.ok_or_else(|| missing(seq))?;
            let body = entry::read_body(&found.body).map_err(|message| broken(seq, message))?;
            if version::changes(action, &body) {
                return Ok(seq);
            }
        }
        Ok(seen.min(head))
    }

    fn first_answer(&self, command: &Command) -> Result<Option<Response>> {
        let Some(seq) = rows::key(self.connection, &command.key)? else {
            return Ok(None);
        };
        let found = rows::entry(self.connection, seq)?.ok_or_else(|| missing(seq))?;
        let (first, ruling) = entry::unseal(&found).map_err(|message| broken(seq, message))?;
        // The same operation, whenever it was given.
        let same = first.action == command.action;
        let ruling = match same {
            false => Err(Refusal::KeyReused {
                key: command.key.clone(),
            }),
            true => ruling.into(),
        };
        Ok(Some(Response {
            seq: Some(seq),
            at: first.at,
            ruling,
            repeated: same,
            expired: Vec::new(),
        }))
    }

    /// Decides a command, appends the entry and folds what happened.
    fn answer(
        &mut self,
        rules: Option<&Rules>,
        command: &Command,
    ) -> Result<(Option<u64>, Ruling)> {
        let ruling = self.ask(|slice| decide::decide(rules, slice, command))?;
        let is_news = match &ruling {
            Ok(events) => !events.is_empty(),
            Err(refusal) => refusal.is_recorded(),
        };
        if !is_news {
            return Ok((None, ruling));
        }
        let answer = Answer::from(ruling);
        let sealed = entry::seal(self.derived.head, command, &answer, self.salts.next());
        rows::append(self.connection, &sealed)?;
        if command.clock.jumped != 0 {
            self.jumped = 0;
        }
        self.derived.head = Head {
            seq: sealed.seq,
            digest: sealed.digest,
        };
        match &answer {
            Answer::Granted(events) => {
                self.derived.fold(self.connection, rules, command, events)?;
                derived::save_draft(self.connection, sealed.seq, &command.action, events)?;
            }
            Answer::Refused(_) => evolve::refused(&mut self.derived.slice, command),
        }
        Ok((Some(sealed.seq), answer.into()))
    }

    fn ask<T>(&mut self, question: impl Fn(&Slice) -> T) -> Result<T> {
        self.derived.ask(self.connection, question)
    }
}

fn broken(seq: u64, message: String) -> Fault {
    Fault::Row {
        row: format!("entry {seq}"),
        message,
    }
}

fn missing(seq: u64) -> Fault {
    broken(seq, "it is missing".to_owned())
}

/// Random bytes: salts for what is sealed, and keys for operations that bring none.
#[derive(Debug)]
pub(super) struct Salts {
    seed: [u8; 32],
    /// What the keys of this process begin with.
    process: String,
    count: u64,
}

impl Salts {
    /// Asks the system for a seed, once a process.
    pub(super) fn new() -> Result<Self> {
        let mut seed = [0; 32];
        std::fs::File::open("/dev/urandom")
            .and_then(|mut file| file.read_exact(&mut seed))
            .map_err(Fault::Random)?;
        let mut process = Digest::of(&[b"prereg-process/1\n", &seed]).to_string();
        process.truncate(PROCESS_DIGITS);
        Ok(Self {
            seed,
            process,
            count: 0,
        })
    }

    /// Returns random bytes that nobody else has.
    pub(super) fn next(&mut self) -> Digest {
        self.count += 1;
        Digest::of(&[b"prereg-random/1\n", &self.seed, &self.count.to_be_bytes()])
    }

    /// Returns a key that nobody else has: random for the process, counted within it.
    fn key(&mut self) -> String {
        self.count += 1;
        format!("{}-{:0COUNT_DIGITS$}", self.process, self.count)
    }
}

/// Returns whether a key has the form of those that are made up, which nobody repeats.
pub(super) fn is_made_up(key: &str) -> bool {
    let Some((process, count)) = key.split_once('-') else {
        return false;
    };
    let is_hex = |byte: u8| matches!(byte, b'0'..=b'9' | b'a'..=b'f');
    process.len() == PROCESS_DIGITS
        && process.bytes().all(is_hex)
        && count.len() >= COUNT_DIGITS
        && count.bytes().all(|byte| byte.is_ascii_digit())
}
