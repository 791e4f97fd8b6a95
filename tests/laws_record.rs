//! The laws of the record: what a store writes, an audit derives again.

#![expect(
    clippy::unwrap_used,
    reason = "a test stops at the first broken assumption"
)]

mod engine_common;

use std::cell::Cell;

use engine_common::cases::cases;
use engine_common::design::{Design, HOUR};
use engine_common::random::{Random, any_drafts, any_move, any_pause};
use engine_common::{Draft, Move, Report, World};
use prereg::engine::command::{Action, Ending};
use prereg::engine::refusal::Refusal;
use prereg::engine::slice::Run;
use prereg::engine::start::Peek;
use prereg::protocol::model::Serial;
use prereg::record::anchor::expected::Expected;
use prereg::record::audit::Audit;
use prereg::record::entry::Head;
use prereg::store::{Request, Response, Store, Verification, verify, verify_against};
use prereg::units::{RunId, Time};

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
        expects: None,
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
        Verification::Empty => panic!("no entries"),
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

/// Some sixty moves each, by two hands on one record, one of them in sessions whose rows lag behind the entries.
#[test]
fn a_store_an_audit_and_the_fold_say_the_same() {
    for seed in 0..u64::from(cases(120)) {
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
fn a_record_that_a_session_begins_verifies_beside_it() {
    let draft = Draft::of(Design::default());
    NOW.set(Time(0));
    let folder = tempfile::tempdir().unwrap();
    let mut store = Store::create(&folder.path().join("study.prereg"), clock).unwrap();
    let _flush = store.begin_session(64).unwrap();
    apply(&mut store, None, Move::Open(0).action(&[draft]))
        .ruling
        .unwrap();
    assert_eq!(verified(&store).head, store.head().unwrap());
}

#[test]
fn every_run_is_shown_however_many_were_put_away() {
    let design = Design {
        tasks: 600,
        serial: Serial::None,
        ..Design::default()
    };
    let draft = Draft::of(design);
    NOW.set(Time(0));
    let (_folder, mut store) = registered(&draft);
    let runs = store.write(|writer| {
        let mut runs = 0;
        while let Peek::Start(next) = writer.peek()? {
            runs += 1;
            for wanted in [
                Move::start(&next.task, &next.arm),
                Move::Finish(runs, false),
                Move::Score(runs, Report::Pass),
            ] {
                writer.apply(request(None, wanted.action(std::slice::from_ref(&draft))))?;
            }
        }
        Ok(runs)
    });
    let runs = runs.unwrap();
    // More rows, with their lanes, than an audit holds.
    assert!(runs >= 1_200, "{runs}");
    let mut seen = Vec::new();
    let mut see = |_: Option<_>, _: &str, run: &Run| {
        assert!(run.execution.is_some());
        seen.push(run.run.0);
        Ok(())
    };
    let verified = verify_against(store.path(), &mut Expected::default(), Some(&mut see));
    let Verification::Verified(audit) = verified.unwrap() else {
        panic!("it does not verify");
    };
    assert!((audit.slice.runs.len() as u64) < runs, "none was put away");
    assert!(seen.into_iter().eq(1..=runs));
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
fn a_write_goes_through_only_if_what_it_is_about_is_what_was_seen() {
    let draft = Draft::of(Design {
        runs_max: 2,
        serial: Serial::None,
        ..Design::default()
    });
    let drafts = std::slice::from_ref(&draft);
    NOW.set(Time(0));
    let (_folder, mut store) = registered(&draft);
    let start = |arm| Move::start("t1", arm).action(drafts);
    let finish = |run| Move::Finish(run, false).action(drafts);
    // Two entries opened and registered the study.
    for (expects, key, action, answer) in [
        (Some(1), None, start("a"), Err(Some((1, 2)))),
        (Some(3), None, start("a"), Err(Some((3, 2)))),
        (Some(2), Some("k"), start("a"), Ok(3)),
        (Some(2), Some("k"), start("a"), Ok(3)),
        (Some(3), None, start("b"), Ok(4)),
        // A run is what it was, whatever became of others; a refusal changes nothing.
        (Some(3), None, finish(1), Ok(5)),
        (Some(3), None, finish(1), Err(Some((3, 5)))),
        (Some(5), None, finish(1), Err(None)),
        (Some(5), None, start("x"), Err(None)),
        (Some(4), None, finish(2), Ok(8)),
        (None, None, Action::Unblind {}, Ok(9)),
    ] {
        let asked = Request {
            expects,
            ..request(key, action.clone())
        };
        let entries = store.head().unwrap().seq;
        let response = store.write(|writer| writer.apply(asked)).unwrap();
        let found = match &response.ruling {
            Ok(_) => Ok(response.seq.unwrap()),
            Err(Refusal::ChangedSinceRead { seen, stands }) => {
                assert_eq!(store.head().unwrap().seq, entries, "nothing is written");
                Err(Some((*seen, *stands)))
            }
            Err(_) => Err(None),
        };
        assert_eq!(found, answer, "{expects:?} {action:?}");
    }
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
