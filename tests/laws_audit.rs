//! The laws of the audit: what is changed in a record, it finds.

#![expect(
    clippy::unwrap_used,
    reason = "a test stops at the first broken assumption"
)]

mod engine_common;

use std::borrow::Cow;
use std::cell::Cell;
use std::rc::Rc;

use engine_common::cases::cases;
use engine_common::design::Design;
use engine_common::random::{Random, any_drafts, any_move, any_pause};
use engine_common::{Draft, Move, Report, World, sealed};
use prereg::engine::command::{Action, Cause};
use prereg::engine::event::Event;
use prereg::engine::refusal::Refusal;
use prereg::engine::start::{self, Peek};
use prereg::protocol::canonical;
use prereg::protocol::model::Serial;
use prereg::record::audit::{Audit, Auditor, End};
use prereg::record::divergence::{Code, Divergence};
use prereg::record::entry::{self, Answer, Entry, Head};
use prereg::record::reading;
use prereg::record::shelf::Shelf;
use prereg::units::{Digest, Micros, RunId};

/// Plays a random history and seals what was said and ruled.
fn entries(random: &mut Random, drafts: &[Draft]) -> Vec<Entry> {
    let mut world = World::empty(drafts);
    world.log = Some(Vec::new());
    for wanted in [Move::Open(0), Move::Register(0)] {
        world.give(&wanted);
    }
    for _ in 0..10 + random.below(30) {
        world.later(any_pause(random));
        let wanted = any_move(random, &world);
        world.give(&wanted);
    }
    sealed(world.log.unwrap_or_default())
}

/// Each of some random records.
fn records(seed: u64, mut each: impl FnMut(&mut Random, &[Entry])) {
    for study in 0..u64::from(cases(120)) {
        let mut random = Random(study << 32 | seed);
        let drafts = any_drafts(&mut random).map(Draft::of);
        let entries = entries(&mut random, &drafts);
        each(&mut random, &entries);
    }
}

/// Audits entries twice: once with every row in memory, and once with as few as can be; both say the
/// same.
fn audit(entries: &[Entry]) -> Result<Audit, Divergence> {
    let few = audited(Auditor::new(Memory::default(), 1), entries, false);
    let all = audited(Auditor::new(Memory::default(), usize::MAX), entries, false);
    match (few, all) {
        (Ok(mut few), Ok(mut all)) => {
            assert_eq!(few.standing(), all.standing());
            assert_eq!(few.counts(), all.counts());
            for run in (1..=all.standing().runs).map(RunId) {
                let row = all.run(run).unwrap();
                assert!(row.is_some(), "run {run}");
                assert_eq!(few.run(run).unwrap(), row);
            }
            all.finish()
        }
        (few, all) => {
            let (few, all) = (few.unwrap_err(), all.unwrap_err());
            assert_eq!(few, all);
            Err(all)
        }
    }
}

/// A shelf in memory, which says how many rows are on it.
#[derive(Debug, Default)]
struct Memory {
    rows: Vec<Vec<u8>>,
    away: Rc<Cell<usize>>,
}

impl Shelf for Memory {
    type Fault = String;

    fn put(&mut self, write: impl FnOnce(&mut Vec<u8>)) -> Result<u64, String> {
        let mut bytes = Vec::new();
        write(&mut bytes);
        self.rows.push(bytes);
        self.away.set(self.away.get() + 1);
        Ok(self.rows.len() as u64 - 1)
    }

    fn get(&mut self, place: u64) -> Result<Cow<'_, [u8]>, String> {
        self.away.set(self.away.get() - 1);
        Ok(Cow::Borrowed(&self.rows[place as usize]))
    }

    fn broken(message: String) -> String {
        message
    }
}

type Shelved = Auditor<Memory>;

fn audited(mut auditor: Shelved, entries: &[Entry], whole: bool) -> Result<Shelved, Divergence> {
    for entry in entries {
        let mut read = reading::read(entry.text(), &auditor.head().digest, whole);
        let followed = auditor.follow(&mut read, &entry.body);
        followed.map_err(|end| match end {
            End::Diverged(divergence) => divergence,
            End::Fault(message) => panic!("{message}"),
        })?;
    }
    Ok(auditor)
}

/// Binds every entry to the one before, as a forger who holds the whole file would.
fn chained(mut entries: Vec<Entry>) -> Vec<Entry> {
    let mut previous = entry::GENESIS;
    for entry in &mut entries {
        entry.digest = entry::digest(&previous, entry.seq, &entry.body);
        previous = entry.digest;
    }
    entries
}

#[test]
fn a_record_audits_with_its_openings_and_without() {
    records(7, |_, entries| {
        let whole = audit(entries).unwrap();
        assert_eq!(whole.rulings, entries.len() as u64);
        let mut sealed = entries.to_vec();
        for entry in &mut sealed {
            entry.opening = None;
        }
        let blind = audit(&sealed).unwrap();
        assert_eq!(blind.head, whole.head);
        assert_eq!(blind.slice.standing, whole.slice.standing);
    });
}

/// Changes what an entry says was ruled.
fn forge(random: &mut Random, answer: &mut Answer) {
    match answer {
        Answer::Refused(refusal) => {
            *refusal = match refusal {
                Refusal::UnknownRun { .. } => Refusal::NotOpened {},
                _ => Refusal::UnknownRun { run: RunId(7) },
            };
        }
        Answer::Granted(events) => match (random.below(4), events.last_mut()) {
            (0, _) => *answer = Answer::Refused(Refusal::NotEnded { run: RunId(1) }),
            (1, _) => drop(events.pop()),
            (2, Some(Event::Started { run, .. } | Event::Ended { run, .. })) => run.0 += 1,
            (
                3,
                Some(Event::Started {
                    place: Some(place), ..
                }),
            ) => place.attempt += 1,
            _ => events.push(Event::Completed {}),
        },
    }
}

#[test]
fn a_changed_ruling_is_found_although_the_chain_is_forged() {
    records(8, |random, entries| {
        for _ in 0..4 {
            let mut forged = entries.to_vec();
            let at = random.below(forged.len());
            let mut body = entry::read_body(&forged[at].body).unwrap();
            forge(random, &mut body.ruling);
            forged[at].body = canonical_text(&body);
            let found = audit(&chained(forged)).unwrap_err();
            assert_eq!(
                (found.entry, found.code),
                (at as u64 + 1, Code::RulingDiffers)
            );
        }
    });
}

#[test]
fn what_a_person_voids_is_not_put_down_to_an_outage() {
    let drafts = [Draft::of(Design::default())];
    let mut world = World::empty(&drafts);
    world.log = Some(Vec::new());
    for wanted in [Move::Open(0), Move::Register(0), Move::Void(1)] {
        world.give(&wanted);
    }
    let mut forged = sealed(world.log.unwrap());
    let mut body = entry::read_body(&forged[2].body).unwrap();
    let Answer::Granted(events) = &mut body.ruling else {
        panic!("{:?}", body.ruling);
    };
    let requeued = events.iter_mut().find_map(|event| match event {
        Event::BlockVoided { requeued, .. } => Some(requeued),
        _ => None,
    });
    *requeued.unwrap() = false;
    forged[2].body = canonical_text(&body);
    let found = audit(&chained(forged)).unwrap_err();
    assert_eq!(found.rule.as_deref(), Some("/attempts/voids_max"));
}

/// Returns the canonical JSON of a part of an entry.
fn canonical_text(part: &impl serde::Serialize) -> String {
    let value = serde_json::to_value(part).unwrap();
    String::from_utf8(canonical::bytes(&value)).unwrap()
}

#[test]
fn a_cause_that_no_evidence_gives_is_found_although_the_evidence_is_withheld() {
    let mut forgeries = 0;
    records(12, |_, entries| {
        for (at, sealed) in entries.iter().enumerate() {
            let mut body = entry::read_body(&sealed.body).unwrap();
            let Answer::Granted(events) = &mut body.ruling else {
                continue;
            };
            let Some(Event::Scored { run, .. }) = events.first().cloned() else {
                continue;
            };
            let cause = Cause::Lost;
            events[0] = Event::Unjudged { run, cause };
            body.sealed.retain(|name, _| name == "evidence");
            let mut forged = entries[..=at].to_vec();
            forged[at].body = canonical_text(&body);
            for entry in &mut forged {
                entry.opening = None;
            }
            let found = audit(&chained(forged)).unwrap_err();
            assert_eq!(
                (found.entry, found.code),
                (at as u64 + 1, Code::RulingDiffers)
            );
            forgeries += 1;
            return;
        }
    });
    assert!(forgeries > 15, "only {forgeries} records hold a score");
}

#[test]
fn tasks_that_the_frame_does_not_bind_are_found() {
    records(13, |_, entries| {
        let mut forged = entries[..1].to_vec();
        let mut body = entry::read_body(&forged[0].body).unwrap();
        let Action::Open { tasks, .. } = &mut body.command.action else {
            return;
        };
        // An open frame has none yet.
        let Some(task) = tasks.first_mut() else {
            return;
        };
        task["id"] = "another".into();
        forged[0].body = canonical_text(&body);
        let found = audit(&chained(forged)).unwrap_err();
        assert_eq!((found.entry, found.code), (1, Code::BodyForm));
    });
}

#[test]
fn a_changed_byte_is_named_by_its_entry() {
    records(9, |random, entries| {
        let mut changed = entries.to_vec();
        let at = random.below(changed.len());
        let mut body = changed[at].body.clone().into_bytes();
        let byte = random.below(body.len());
        body[byte] = if body[byte] == b'0' { b'1' } else { b'0' };
        changed[at].body = String::from_utf8(body).unwrap();
        let found = audit(&changed).unwrap_err();
        assert_eq!((found.entry, found.code), (at as u64 + 1, Code::Digest));
    });
}

#[test]
fn a_missing_a_doubled_and_a_swapped_entry_are_found() {
    records(10, |random, entries| {
        let at = 1 + random.below(entries.len() - 2);
        let (mut cut, mut doubled, mut swapped) =
            (entries.to_vec(), entries.to_vec(), entries.to_vec());
        cut.remove(at);
        doubled.insert(at, entries[at].clone());
        swapped.swap(at, at + 1);
        for (changed, place) in [(cut, at + 1), (doubled, at + 2), (swapped, at + 1)] {
            let found = audit(&changed).unwrap_err();
            assert_eq!((found.entry, found.code), (place as u64, Code::Sequence));
        }
    });
}

#[test]
fn a_commitment_opens_with_its_value_and_with_no_other() {
    records(11, |random, entries| {
        let sealed = (0..entries.len()).filter(|at| entries[*at].opening.is_some());
        for at in sealed.skip(random.below(3)).step_by(4) {
            let sealed = &entries[at];
            let text = sealed.opening.as_ref().unwrap();
            let committed = entry::read_body(&sealed.body).unwrap().sealed;
            let opening = entry::read_opening(text).unwrap();
            assert_eq!(opening.commitments(), committed);
            let mut salted = opening.clone();
            salted.salt = Digest::of(&[b"another salt"]);
            let mut valued = opening;
            let names: Vec<String> = valued.values.keys().cloned().collect();
            let name = random.pick(&names);
            valued.values[name] = serde_json::json!({ "another": "value" });
            for other in [salted, valued] {
                assert_ne!(other.commitments(), committed);
                let mut changed = entries[..=at].to_vec();
                changed[at].opening = Some(canonical_text(&other));
                let found = audit(&changed).unwrap_err();
                assert_eq!((found.entry, found.code), (at as u64 + 1, Code::Commitment));
            }
        }
    });
}

#[test]
fn an_audit_holds_few_rows_however_many_there_are() {
    let design = Design {
        tasks: 1_000,
        serial: Serial::None,
        ..Design::default()
    };
    let drafts = [Draft::of(design)];
    let mut world = World::empty(&drafts);
    world.log = Some(Vec::new());
    world.give(&Move::Open(0));
    world.give(&Move::Register(0));
    while let Peek::Start(next) = start::peek(&drafts[0].rules, &world.slice, world.at) {
        let run = world.slice.standing.runs + 1;
        world.later(Micros::from_seconds(1));
        world.give(&Move::start(&next.task, &next.arm));
        world.give(&Move::Finish(run, false));
        world.give(&Move::Score(run, Report::Pass));
    }
    let entries = sealed(world.log.unwrap());
    let shelf = Memory::default();
    let away = Rc::clone(&shelf.away);
    let mut auditor = Auditor::new(shelf, 100);
    let mut held = 0;
    for entry in &entries {
        auditor = audited(auditor, std::slice::from_ref(entry), true).unwrap();
        let (runs, lanes, facts) = auditor.counts();
        held = held.max(runs + lanes + facts - away.get());
    }
    // A run for each of 2,000 slots, and their lanes.
    assert!(
        auditor.counts() >= (2_000, 1_000, 0),
        "{:?}",
        auditor.counts()
    );
    assert!((50..=100).contains(&held), "{held}");
    assert_eq!(auditor.standing(), &world.slice.standing);
}

#[test]
fn a_deadline_that_no_entry_noticed_is_found() {
    let drafts = [Draft::of(Design::default())];
    let mut log = World::empty(&drafts);
    log.log = Some(Vec::new());
    for wanted in [Move::Open(0), Move::Register(0), Move::start("t1", "a")] {
        log.give(&wanted);
    }
    log.later(Design::default().stale_after);
    log.give(&Move::start("t2", "a"));
    let said = log.log.unwrap();
    let causes = said.iter().flat_map(|(_, ruling)| ruling.iter().flatten());
    let stale = |event: &&Event| {
        matches!(
            event,
            Event::Unjudged {
                cause: Cause::Stale,
                ..
            }
        )
    };
    assert_eq!(causes.filter(stale).count(), 1);
    let mut head = Head::EMPTY;
    let mut entries = Vec::new();
    for (command, ruling) in said {
        if !matches!(command.action, Action::Expire { .. }) {
            let sealed = entry::seal(head, &command, &Answer::from(ruling), Digest([7; 32]));
            head = Head {
                seq: sealed.seq,
                digest: sealed.digest,
            };
            entries.push(sealed);
        }
    }
    let found = audit(&entries).unwrap_err();
    assert_eq!((found.entry, found.code), (4, Code::ExpiryMissing));
}
