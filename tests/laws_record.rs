//! The laws of the record: what a store writes, an audit derives again; what is changed, it finds.

#![expect(
    clippy::unwrap_used,
    reason = "a test stops at the first broken assumption"
)]

mod engine_common;

use std::cell::Cell;

use engine_common::design::{Design, HOUR};
use engine_common::random::{Random, any_drafts, any_move, any_pause};
use engine_common::{Draft, Move, Report, World};
use prereg::engine::command::{Action, Cause, Ending};
use prereg::engine::event::Event;
use prereg::engine::refusal::Refusal;
use prereg::protocol::canonical;
use prereg::record::audit::{Audit, Auditor};
use prereg::record::divergence::{Code, Divergence};
use prereg::record::entry::{self, Answer, Entry, Head};
use prereg::store::{Request, Response, Store, Verification, verify};
use prereg::units::{Digest, RunId, Time};

/// How many studies have some sixty moves each.
const STUDIES: u64 = 120;

thread_local! {
    /// What the store's clock says.
    static NOW: Cell<Time> = const { Cell::new(Time(0)) };
}

fn clock() -> Time {
    NOW.get()
}

fn request(key: Option<&str>, action: Action) -> Request {
    Request {
        actor: "user:tester".to_owned(),
        key: key.map(str::to_owned),
        action,
    }
}

fn apply(store: &mut Store, key: Option<&str>, action: Action) -> Response {
    store
        .write(|writer| writer.apply(request(key, action)))
        .unwrap()
}

/// A store in a folder of its own, on which a study is opened and registered.
fn registered(draft: &Draft) -> (tempfile::TempDir, Store) {
    let folder = tempfile::tempdir().unwrap();
    let mut store = Store::create(&folder.path().join("study.prereg"), clock).unwrap();
    let drafts = std::slice::from_ref(draft);
    for wanted in [Move::Open(0), Move::Register(0)] {
        apply(&mut store, None, wanted.action(drafts))
            .ruling
            .unwrap();
    }
    (folder, store)
}

fn verified(store: &Store) -> Audit {
    match verify(store.path()).unwrap() {
        Verification::Verified(audit) => *audit,
        Verification::Diverged(divergence) => panic!("{divergence}"),
    }
}

/// Gives some moves to a store in one transaction, and to the world; they answer the same.
fn same_answers(random: &mut Random, store: &mut Store, world: &mut World<'_>) {
    store
        .write(|writer| {
            for _ in 0..1 + random.below(12) {
                let wanted = any_move(random, world);
                let asked = Request {
                    actor: wanted.actor().to_owned(),
                    ..request(None, wanted.action(world.drafts))
                };
                let response = writer.apply(asked)?;
                let given = world.give(&wanted);
                let expired: Vec<RunId> = given.expired.iter().map(|(run, _)| *run).collect();
                assert_eq!(response.ruling, given.ruling, "{wanted:?}");
                assert_eq!(response.expired, expired);
            }
            Ok(())
        })
        .unwrap();
    assert_eq!(store.standing().unwrap(), world.slice.standing);
}

/// Two hands on one record, one of them in sessions whose rows lag behind the entries.
#[test]
fn a_store_an_audit_and_the_fold_say_the_same() {
    for seed in 0..STUDIES {
        let mut random = Random(seed << 32 | 5);
        let drafts = any_drafts(&mut random).map(Draft::of);
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("study.prereg");
        let mut lagging = Store::create(&path, clock).unwrap();
        let mut other = Store::open(&path, clock).unwrap();
        let mut world = World::empty(&drafts);
        for _ in 0..10 {
            world.later(any_pause(&mut random));
            NOW.set(world.at);
            match random.below(10) {
                0 => lagging.settle().unwrap(),
                1..=3 => drop(lagging.begin_session(random.below(7)).unwrap()),
                4..=5 => same_answers(&mut random, &mut other, &mut world),
                _ => {}
            }
            same_answers(&mut random, &mut lagging, &mut world);
        }
        if world.opened.is_none() {
            continue;
        }
        // Once while rows may lag, and once when none do.
        for store in [&mut lagging, &mut other] {
            let audit = verified(store);
            assert_eq!(audit.slice, world.slice);
            assert_eq!(audit.head, store.head().unwrap());
            store.settle().unwrap();
        }
    }
}

#[test]
fn a_record_begins_with_its_protocol() {
    let draft = Draft::of(Design::default());
    let drafts = std::slice::from_ref(&draft);
    NOW.set(Time(0));
    let folder = tempfile::tempdir().unwrap();
    let mut store = Store::create(&folder.path().join("study.prereg"), clock).unwrap();
    let early = apply(&mut store, None, Move::start("t1", "a").action(drafts));
    assert_eq!(early.ruling, Err(Refusal::NotOpened {}));
    assert_eq!((early.seq, store.head().unwrap()), (None, Head::EMPTY));
    let opened = apply(&mut store, None, Move::Open(0).action(drafts));
    assert_eq!(opened.seq, Some(1));
    verified(&store);
}

#[test]
fn time_never_goes_back() {
    let draft = Draft::of(Design::default());
    NOW.set(Time(5_000_000));
    let (_folder, mut store) = registered(&draft);
    let mut last = Time(5_000_000);
    let mut random = Random(6);
    for _ in 0..40 {
        NOW.set(Time(random.below(10_000_000) as i64));
        let response = apply(&mut store, None, Action::Unblind {});
        assert_eq!(response.at, last.max(NOW.get()));
        last = response.at;
    }
    verified(&store);
}

#[test]
fn an_operation_has_one_answer() {
    let draft = Draft::of(Design::default());
    let drafts = std::slice::from_ref(&draft);
    NOW.set(Time(0));
    let (_folder, mut store) = registered(&draft);
    let start = Move::start("t1", "a").action(drafts);
    let wrong = Move::start("t1", "b").action(drafts);
    let first = apply(&mut store, Some("k1"), start.clone());
    let refused = apply(&mut store, Some("k2"), wrong.clone());
    for (key, action, answer) in [("k1", &start, &first), ("k2", &wrong, &refused)] {
        let again = apply(&mut store, Some(key), action.clone());
        assert_eq!((again.seq, &again.ruling), (answer.seq, &answer.ruling));
        assert!(again.repeated);
    }
    let other = apply(&mut store, Some("k1"), wrong);
    assert_eq!(other.ruling.unwrap_err().code(), "key-reused");
    apply(&mut store, None, Move::Finish(1, false).action(drafts));
    let pass = Move::Score(1, Report::Pass).action(drafts);
    let fail = Move::Score(1, Report::Fail).action(drafts);
    let scored = apply(&mut store, Some("k3"), pass.clone());
    assert_eq!(apply(&mut store, Some("k3"), pass).ruling, scored.ruling);
    let other = apply(&mut store, Some("k3"), fail).ruling.unwrap_err();
    assert_eq!(other.code(), "key-reused");
    verified(&store);
}

#[test]
fn nobodys_key_keeps_a_stale_run_from_being_closed() {
    let draft = Draft::of(Design::default());
    let drafts = std::slice::from_ref(&draft);
    NOW.set(Time(0));
    let (_folder, mut store) = registered(&draft);
    let start = |arm| Move::start("t1", arm).action(drafts);
    apply(&mut store, Some("expire-1"), start("a"))
        .ruling
        .unwrap();
    NOW.set(Time(6 * HOUR.0 as i64));
    let response = apply(&mut store, None, start("b"));
    assert_eq!(response.expired, [RunId(1)]);
    response.ruling.unwrap();
    verified(&store);
}

#[test]
fn a_report_without_anything_to_seal_verifies() {
    let draft = Draft::of(Design::default());
    let drafts = std::slice::from_ref(&draft);
    NOW.set(Time(0));
    let (_folder, mut store) = registered(&draft);
    apply(&mut store, None, Move::start("t1", "a").action(drafts));
    let finish = Action::Finish {
        run: RunId(1),
        ending: Ending::default(),
        execution: None,
    };
    let score = Action::Score {
        run: RunId(1),
        diff: None,
        evidence: None,
    };
    apply(&mut store, None, finish).ruling.unwrap();
    apply(&mut store, None, score).ruling.unwrap();
    verified(&store);
}

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
    let mut head = Head::EMPTY;
    let log = world.log.unwrap_or_default();
    let sealed = log.into_iter().map(|(command, ruling)| {
        let salt = Digest::of(&[&random.next().to_be_bytes()]);
        let sealed = entry::seal(head, &command, Answer::from(ruling), salt);
        head = Head {
            seq: sealed.seq,
            digest: sealed.digest,
        };
        sealed
    });
    sealed.collect()
}

/// Each of some random records.
fn records(seed: u64, mut each: impl FnMut(&mut Random, &[Entry])) {
    for study in 0..40 {
        let mut random = Random(study << 32 | seed);
        let drafts = any_drafts(&mut random).map(Draft::of);
        for _ in 0..3 {
            let entries = entries(&mut random, &drafts);
            each(&mut random, &entries);
        }
    }
}

fn audit(entries: &[Entry]) -> Result<Audit, Divergence> {
    let mut auditor = Auditor::default();
    for entry in entries {
        auditor.check(entry)?;
    }
    auditor.finish()
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
            let sealed = entry::seal(head, &command, Answer::from(ruling), Digest([7; 32]));
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
