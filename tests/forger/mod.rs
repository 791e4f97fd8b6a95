//! A forger, who holds everything but what was published before: changes what a record or an export
//! says, and makes all that follows consistent again.

#![allow(
    dead_code,
    unreachable_pub,
    clippy::unwrap_used,
    reason = "each test uses its own part; a test that cannot go on fails where it stands"
)]

use std::convert::Infallible;
use std::path::Path;

use prereg::engine::command::{Action, Command};
use prereg::engine::event::Event;
use prereg::engine::rules::Rules;
use prereg::engine::slice::Slice;
use prereg::engine::totals;
use prereg::protocol::canonical;
use prereg::record::entry::{self, Answer, Body, Entry, Head};
use prereg::record::export::{self, Header};
use prereg::store::Store;
use prereg::units::{Digest, Time};
use rusqlite::Connection;
use serde_json::Value;

/// The salt of everything that is sealed anew.
const SALT: Digest = Digest([7; 32]);

/// A record or an export that somebody rewrites.
#[derive(Clone, Debug)]
pub struct Forgery {
    /// The study's id.
    pub study: String,
    /// Its entries, chained or not yet.
    pub entries: Vec<Entry>,
    head: Head,
}

impl Forgery {
    /// Takes a good export.
    pub fn of(whole: &[u8]) -> Self {
        let text = std::str::from_utf8(whole).unwrap();
        let header = Header::read(text.lines().next().unwrap()).unwrap();
        let lines = text.lines().skip(1);
        let entries = lines.map(|line| export::read_entry(line).unwrap());
        Self::on(&header.study, entries.collect())
    }

    /// Takes good entries.
    pub fn on(study: &str, entries: Vec<Entry>) -> Self {
        let head = entries.last().map_or(Head::EMPTY, |last| Head {
            seq: last.seq,
            digest: last.digest,
        });
        Self {
            study: study.to_owned(),
            entries,
            head,
        }
    }

    /// Returns the head as it was before anything was forged: what an anchor holds.
    pub fn head(&self) -> Head {
        self.head
    }

    /// Returns how many entries there are.
    pub fn last(&self) -> u64 {
        self.entries.len() as u64
    }

    /// Returns what an entry says, with what it seals put back.
    pub fn said(&self, seq: u64) -> (Command, Answer) {
        entry::unseal(&self.entries[seq as usize - 1]).unwrap()
    }

    /// Returns the command of an entry, with what it seals.
    pub fn command(&self, seq: u64) -> Command {
        self.said(seq).0
    }

    /// Edits the body of an entry as data.
    pub fn edit(&mut self, seq: u64, edit: impl FnOnce(&mut Value)) {
        let entry = &mut self.entries[seq as usize - 1];
        let mut body: Value = serde_json::from_str(&entry.body).unwrap();
        let before = body.clone();
        edit(&mut body);
        assert_ne!(body, before, "nothing was edited");
        entry.body = String::from_utf8(canonical::bytes(&body)).unwrap();
    }

    /// Seals an entry anew with another ruling.
    pub fn rule(&mut self, seq: u64, events: Vec<Event>) {
        let command = self.command(seq);
        self.say(seq, &command, Answer::Granted(events));
    }

    /// Seals an entry anew with another command and ruling.
    pub fn say(&mut self, seq: u64, command: &Command, answer: Answer) {
        // The chain is made last.
        self.entries[seq as usize - 1] = entry::seal(Head::EMPTY, command, &answer, SALT);
    }

    /// Says something before an entry that was never said.
    pub fn insert(&mut self, seq: u64, command: &Command, answer: Answer) {
        let said = entry::seal(Head::EMPTY, command, &answer, SALT);
        self.entries.insert(seq as usize - 1, said);
    }

    /// Leaves an entry out.
    pub fn remove(&mut self, seq: u64) {
        self.entries.remove(seq as usize - 1);
    }

    /// Numbers and binds every entry anew; returns the new head.
    pub fn chain(&mut self) -> Head {
        let mut head = Head::EMPTY;
        for entry in &mut self.entries {
            entry.seq = head.seq + 1;
            entry.digest = entry::digest(&head.digest, entry.seq, &entry.body);
            head = Head {
                seq: entry.seq,
                digest: entry.digest,
            };
        }
        head
    }

    /// Returns an export of the chained entries.
    pub fn bytes(&mut self) -> Vec<u8> {
        self.exported(false)
    }

    /// Returns an export of the chained entries that leaves openings out if it is sealed.
    pub fn exported(&mut self, sealed: bool) -> Vec<u8> {
        let head = self.chain();
        let mut whole = Header::new(&self.study, head, sealed).line().into_bytes();
        whole.push(b'\n');
        for entry in &self.entries {
            export::write_entry(&mut whole, entry.text(), sealed).unwrap();
        }
        whole
    }

    /// Writes a record of the chained entries; its derived tables follow from them, as far as entries
    /// that nobody could have recorded can be folded at all.
    pub fn record(&mut self, path: &Path) {
        self.chain();
        drop(Store::create(path, || Time(0)).unwrap());
        let connection = Connection::open(path).unwrap();
        let kept = "INSERT INTO entries (seq, digest, body, opening) VALUES (?1, ?2, ?3, ?4)";
        for entry in &self.entries {
            let row = (
                entry.seq as i64,
                entry.digest.0.as_slice(),
                &entry.body,
                &entry.opening,
            );
            connection.execute(kept, row).unwrap();
            for draft in opened(&entry.body) {
                draw(&connection, draft, entry);
            }
        }
        // The rows stand for the first entry, and lag behind the others.
        let mut past = Past::new();
        let readable = |entry: &&Entry| entry::read_body(&entry.body).is_ok();
        if let Some(first) = self.entries.first().filter(readable) {
            past.fold(first);
        }
        let standing = serde_json::to_string(&past.slice.standing).unwrap();
        let saved = "INSERT INTO standing (one, applied, facts) VALUES (1, 1, ?1)";
        connection.execute(saved, [standing]).unwrap();
        drop(connection);
        // What opens it folds the rest, and saves it; where that cannot be, they go on lagging.
        if let Ok(mut store) = Store::open(path, || Time(0)) {
            let _ = store.settle();
        }
    }
}

/// Writes the rows of a draft, as far as a protocol stands in the entry that is said to open it.
fn draw(connection: &Connection, draft: i64, entry: &Entry) {
    let Ok(Body { command, .. }) = entry::read_body(&entry.body) else {
        return;
    };
    let Action::Open {
        text,
        tasks,
        registration,
    } = command.action
    else {
        return;
    };
    let Ok(rules) = Rules::of_record(*registration, tasks) else {
        return;
    };
    let (seq, registration) = (entry.seq as i64, rules.registration());
    let registration = serde_json::to_string(registration).unwrap();
    let extent = serde_json::to_string(rules.extent()).unwrap();
    let kept = "INSERT OR REPLACE INTO drafts VALUES (?1, ?2, ?3, ?4, ?5)";
    let row = (draft, seq, text, registration, extent);
    connection.execute(kept, row).unwrap();
    for (task, phase) in rules.framed() {
        let kept = "INSERT OR REPLACE INTO tasks VALUES (?1, ?2, ?3, ?4, ?5)";
        let place = phase.map(|phase| phase.index as i64);
        let confirmatory = phase.map(|phase| phase.confirmatory);
        let fields = canonical::text(&task.fields);
        let row = (draft, &task.id, fields, confirmatory, place);
        connection.execute(kept, row).unwrap();
    }
}

/// Returns the drafts that a body says were opened.
fn opened(body: &str) -> Vec<i64> {
    let body: Value = serde_json::from_str(body).unwrap();
    let events = body["ruling"]["granted"].as_array();
    let drafts = events.into_iter().flatten();
    drafts.filter_map(|event| event["draft"].as_i64()).collect()
}

/// What stands on a record before an entry.
pub struct Past {
    /// The rules of the protocol that was opened last.
    pub rules: Option<Rules>,
    /// What the entries before say, folded.
    pub slice: Slice,
}

impl Past {
    /// Nothing stands on the record yet.
    pub fn new() -> Self {
        Self {
            rules: None,
            slice: Slice::whole(),
        }
    }

    /// Folds an entry.
    pub fn fold(&mut self, entry: &Entry) {
        let Body { command, .. } = entry::read_body(&entry.body).unwrap();
        if let Action::Open {
            registration,
            tasks,
            ..
        } = &command.action
        {
            // A forger may have opened what nothing binds.
            self.rules = Rules::opened(registration.as_ref().clone(), tasks.clone()).ok();
        }
        match entry::unseal(entry).unwrap() {
            (command, Answer::Granted(events)) => {
                let nothing = |_: &mut Slice, _| Ok::<_, Infallible>(false);
                let Ok(was_there) = totals::apply(
                    self.rules.as_ref(),
                    &mut self.slice,
                    &command,
                    &events,
                    nothing,
                );
                assert!(was_there);
            }
            (command, Answer::Refused(_)) => self.slice.standing.at = command.at,
        }
    }
}
