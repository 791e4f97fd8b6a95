//! The guards of a record: whose log stands beside it, where it stands, what made it, what the clock says.

#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a test that cannot go on fails where it stands, and says what it could not cover"
)]

mod common;

use std::cell::Cell;
use std::fs::{self, File};
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::process::Command;

use common::{Recipe, Said, Study, end_of, wait_until};
use prereg::engine::command::Action;
use prereg::record::export::Header;
use prereg::store::{Request, Store, Writer};
use prereg::units::{Micros, Time};
use rusqlite::Connection;

/// Verbs that read a record or write to it.
const VERBS: &[&[&str]] = &[
    &["status"],
    &["verify", "study.prereg.db"],
    &["export", "--to", "never.jsonl"],
    &["start", "t0", "a"],
    &["run", "study.toml"],
    &["register", "study.toml"],
];

/// Asserts that no verb goes on, and that none touches the record.
fn assert_faults(study: &Study, code: &str, says: &str) {
    let before = fs::read(study.record()).unwrap();
    for verb in VERBS {
        let said = study.prereg(&[verb, &["--json"][..]].concat());
        assert_eq!(said.code, Some(1), "{verb:?}: {said:?}");
        assert_eq!(said.error_code(), code, "{verb:?}: {said:?}");
        assert!(said.out.contains(says), "{verb:?}: {said:?}");
    }
    assert!(fs::read(study.record()).unwrap() == before);
}

fn log_of(study: &Study) -> PathBuf {
    study.base.join("study.prereg.db-wal")
}

/// Reads from a record and keeps its log alive as long as this is held.
fn keep_log(study: &Study) -> Connection {
    let connection = Connection::open(study.record()).unwrap();
    let count = connection.query_row("SELECT count(*) FROM entries", [], |row| row.get(0));
    let _: i64 = count.unwrap();
    connection
}

/// Takes away what a connection left beside a record.
fn tidy(study: &Study) {
    let _ = fs::remove_file(log_of(study));
    let _ = fs::remove_file(study.base.join("study.prereg.db-shm"));
}

#[test]
fn a_log_of_another_record_is_not_read_through() {
    let (study, other) = (Recipe::default().lay(), Recipe::default().lay());
    other.register();
    let kept = keep_log(&other);
    other.data(&["start", "t0", "a"]);
    let log = fs::read(log_of(&other)).unwrap();
    drop(kept);
    assert!(!log.is_empty());
    study.complete();
    let export = study.prereg(&["export"]).out;
    fs::write(log_of(&study), &log).unwrap();
    assert_faults(&study, "foreign-log", "is not the log of");
    assert!(
        fs::read(log_of(&study)).unwrap() == log,
        "the log is left for people to look at"
    );
    tidy(&study);
    study.verify();
    assert_eq!(study.prereg(&["export"]).out, export);
    // Nor through one that stands beside a file of nothing but a header, as if it had been begun.
    let begun = Recipe::default().lay();
    let connection = Connection::open(begun.record()).unwrap();
    let wal = connection.pragma_update_and_check(None, "journal_mode", "WAL", |_| Ok(()));
    wal.unwrap();
    drop(connection);
    fs::write(log_of(&begun), &log).unwrap();
    let said = begun.prereg(&["status", "--json"]);
    assert_eq!(said.code, Some(1), "{said:?}");
    // Nor is it taken away where there is no file at all.
    fs::remove_file(begun.record()).unwrap();
    for verb in ["register", "run"] {
        let said = begun.prereg(&[verb, "study.toml", "--json"]);
        assert_eq!(said.error_code(), "foreign-log", "{said:?}");
    }
    assert!(fs::read(log_of(&begun)).unwrap() == log);
}

/// A record as its files were at some time, and what it said then.
struct Moment {
    file: Vec<u8>,
    log: Vec<u8>,
    head: u64,
}

impl Moment {
    fn of(study: &Study, store: &Store) -> Self {
        Self {
            file: fs::read(study.record()).unwrap(),
            log: fs::read(log_of(study)).unwrap_or_default(),
            head: store.head().unwrap().seq,
        }
    }
}

thread_local! {
    static WALL: Cell<i64> = const { Cell::new(1_700_000_000_000_000) };
    static STEADY: Cell<u64> = const { Cell::new(0) };
}

fn wall() -> Time {
    Time(WALL.get())
}

/// Makes the wall clock and the one that nobody sets go on by so many seconds.
fn pass(seconds: i64) {
    WALL.set(WALL.get() + seconds * 1_000_000);
    STEADY.set(STEADY.get() + seconds.unsigned_abs() * 1_000_000);
}

fn note_of(note: String) -> Request {
    Request {
        actor: "user".to_owned(),
        key: None,
        expects: None,
        action: Action::Deviate { note, arm: None },
    }
}

fn deviate(store: &mut Store, note: String) {
    let given = store.write(|writer| writer.apply(note_of(note))).unwrap();
    given.ruling.unwrap();
}

/// Whatever log of the same record stands beside whatever file of it: it is shown as it was at some
/// time, or not at all.
#[test]
fn an_older_or_newer_log_is_not_read_through() {
    let study = Recipe::default().lay();
    study.register();
    let mut moments = Vec::new();
    for session in 0..2 {
        let mut store = Store::open(&study.record(), wall).unwrap();
        let flush = store.begin_session(64).unwrap();
        // Long enough for SQLite to begin the log anew several times.
        for step in 0..24 {
            for _ in 0..1 + step % 3 {
                deviate(&mut store, "a".repeat(50_000 * (step % 5 % 4)) + "note");
                deviate(&mut store, "b".repeat(900) + "note");
            }
            flush.flush().unwrap();
            if step % 4 == session || step > 21 {
                moments.push(Moment::of(&study, &store));
            }
        }
        store.settle().unwrap();
        moments.push(Moment::of(&study, &store));
        drop(store);
        let store = Store::read(&study.record()).unwrap();
        moments.push(Moment::of(&study, &store));
    }
    let (shown, refused) = paired(&study, &moments);
    assert!(shown > 20 && refused > 50, "{shown} {refused}");
}

/// A commit that SQLite puts into the file at once begins the log anew, and so does the one after it.
#[test]
fn a_log_after_a_large_commit_is_its_own() {
    let study = Recipe::default().lay();
    study.register();
    let mut store = Store::open(&study.record(), wall).unwrap();
    let mut moments = Vec::new();
    for (step, large) in [true, true, false, true, false, false, true]
        .into_iter()
        .enumerate()
    {
        let notes = if large { 50 } else { 1 };
        let work = |writer: &mut Writer<'_>| {
            for note in 0..notes {
                let note = format!("{step} {note} {}", "a".repeat(100_000));
                writer.apply(note_of(note))?.ruling.unwrap();
            }
            Ok(())
        };
        store.write(work).unwrap();
        moments.push(Moment::of(&study, &store));
    }
    drop(store);
    moments.push(Moment::of(&study, &Store::read(&study.record()).unwrap()));
    let (shown, refused) = paired(&study, &moments);
    assert!(shown >= moments.len() && refused > 10, "{shown} {refused}");
}

/// Puts every log beside every file: each pair is shown as the record was at some time, or refused.
fn paired(study: &Study, moments: &[Moment]) -> (usize, usize) {
    let (mut shown, mut refused) = (0, 0);
    for (at, file) in moments.iter().enumerate() {
        for (log_at, log) in moments.iter().enumerate() {
            tidy(study);
            fs::write(study.record(), &file.file).unwrap();
            if !log.log.is_empty() {
                fs::write(log_of(study), &log.log).unwrap();
            }
            match Store::read(&study.record()) {
                Ok(store) => {
                    let head = store.head().unwrap().seq;
                    drop(store);
                    study_verifies(study);
                    let expected = if log.log.is_empty() {
                        None
                    } else {
                        Some(log.head)
                    };
                    // A file without its log is as it was when the log was last put into it.
                    assert!(
                        expected.is_none_or(|expected| expected == head),
                        "{at} {log_at}"
                    );
                    assert!(at != log_at || head == file.head);
                    shown += 1;
                }
                Err(fault) => {
                    assert_eq!(fault.code(), "foreign-log", "{at} {log_at}: {fault}");
                    assert_ne!(at, log_at);
                    refused += 1;
                }
            }
        }
    }
    println!("logs: {shown} shown, {refused} refused");
    (shown, refused)
}

fn study_verifies(study: &Study) {
    use prereg::store::{Verification, verify};
    match verify(&study.record()).unwrap() {
        Verification::Verified(_) => {}
        other => panic!("{other:?}"),
    }
}

/// A study whose first arm waits until somebody lets it go on.
fn waiting() -> Study {
    Recipe {
        arms: [1, 2].map(|_| {
            "echo {run.id} >> \"$LOG\"; while [ ! -e \"$LOG.go\" ]; do sleep 0.05; done; printf b > out"
                .to_owned()
        }),
        ..Recipe::default()
    }
    .lay()
}

/// Does something to the files of a record while a session is at work; returns what that said.
fn meddle(study: &Study, meddle: impl FnOnce()) -> Said {
    let runner = study.spawn(&["run", "study.toml", "--json"]);
    wait_until("no arm began", || !study.log().is_empty());
    meddle();
    fs::write(study.log.with_file_name("log.go"), "").unwrap();
    end_of(runner)
}

fn assert_moved(said: &Said) {
    assert_eq!(
        (said.code, said.error_code()),
        (Some(1), "record-moved".to_owned()),
        "{said:?}"
    );
}

#[test]
fn nothing_is_written_to_a_record_that_is_not_where_it_was() {
    let study = waiting();
    let aside = study.base.join("aside");
    let said = meddle(&study, || fs::rename(study.record(), &aside).unwrap());
    assert_moved(&said);
    study.assert_nobody_is_left();
    assert!(!study.record().exists(), "no other record takes its place");
    // In its place again, with its log, it goes on.
    fs::rename(&aside, study.record()).unwrap();
    study.verify();
    study.complete();
    study.verify();

    let study = waiting();
    let said = meddle(&study, || {
        let copy = fs::read(study.record()).unwrap();
        fs::remove_file(study.record()).unwrap();
        fs::write(study.record(), copy).unwrap();
    });
    assert_moved(&said);

    let study = waiting();
    assert_moved(&meddle(&study, || fs::remove_file(study.record()).unwrap()));

    let study = waiting();
    assert_moved(&meddle(&study, || fs::remove_file(log_of(&study)).unwrap()));
}

#[test]
fn nothing_is_written_to_a_record_under_another_name() {
    let study = Recipe::default().lay();
    study.register();
    let (record, other) = (study.record(), study.base.join("other.db"));
    let before = fs::read(&record).unwrap();
    let refused = |code: &str| {
        for verb in [
            &["run", "study.toml", "--db", "other.db"][..],
            &["start", "t0", "a", "--db", "other.db"],
        ] {
            let said = study.prereg(&[verb, &["--json"][..]].concat());
            assert_eq!(
                (said.code, said.error_code()),
                (Some(1), code.to_owned()),
                "{said:?}"
            );
        }
        assert!(fs::read(&record).unwrap() == before);
    };
    std::os::unix::fs::symlink("study.prereg.db", &other).unwrap();
    refused("record-link");
    // Whoever reads through it reads the record with the log that is beside that.
    for verb in [&["status", "other.db"][..], &["verify", "other.db"]] {
        assert_eq!(study.prereg(verb).code, Some(0));
    }
    tidy(&study);
    let foreign = Recipe::default().lay();
    foreign.register();
    let held = keep_log(&foreign);
    foreign.data(&["start", "t0", "a"]);
    fs::copy(log_of(&foreign), log_of(&study)).unwrap();
    for verb in [&["status", "other.db"][..], &["verify", "other.db"]] {
        let said = study.prereg(&[verb, &["--json"][..]].concat());
        assert_eq!(said.error_code(), "foreign-log", "{said:?}");
    }
    drop(held);
    tidy(&study);

    fs::remove_file(&other).unwrap();
    fs::hard_link(&record, &other).unwrap();
    refused("several-names");
    assert_eq!(
        study.prereg(&["start", "t0", "a", "--json"]).error_code(),
        "several-names"
    );
    fs::remove_file(&other).unwrap();
    study.complete();
    study.verify();
}

/// Puts a pipe that nobody writes to in the place of a file.
fn put_pipe(place: &Path) {
    let made = Command::new("mkfifo").arg(place).status();
    assert!(made.unwrap().success());
}

#[test]
fn a_lock_that_nobody_answers_keeps_nobody_waiting() {
    let study = Recipe::default().lay();
    study.register();
    let lock = study.base.join("study.prereg.db-lock");
    fs::remove_file(&lock).unwrap();
    put_pipe(&lock);
    let said = study.prereg(&["start", "t0", "a", "--json"]);
    assert_eq!(
        (said.code, said.error_code()),
        (Some(1), "not-file".to_owned()),
        "{said:?}"
    );
}

fn set_version(study: &Study, version: i64) {
    let connection = Connection::open(study.record()).unwrap();
    connection
        .pragma_update(None, "user_version", version)
        .unwrap();
}

#[test]
fn another_version_is_named_and_left_alone() {
    let study = Recipe::default().lay();
    study.register();
    study.data(&["export", "--to", "export.jsonl"]);
    set_version(&study, 99);
    assert_faults(&study, "record-newer", "needs a newer prereg");
    set_version(&study, 1);
    assert_faults(&study, "record-older", "was never released");
    let export = fs::read_to_string(study.base.join("export.jsonl")).unwrap();
    let (header, rest) = export.split_once('\n').unwrap();
    let mut newer = Header::read(header).unwrap();
    newer.version = 99;
    let newer = newer.line();
    study.write("newer.jsonl", &format!("{newer}\n{rest}"));
    let said = study.prereg(&["verify", "newer.jsonl", "--json"]);
    assert_eq!(said.code, Some(1), "{said:?}");
    assert_eq!(said.error_code(), "record-newer");
    assert!(said.out.contains("needs a newer prereg"), "{said:?}");
}

/// Answers for a file system that has nothing but its root, until it is unmounted.
fn answer_for_nothing(mut device: File) {
    let mut request = vec![0; 1 << 20];
    while let Ok(length) = device.read(&mut request) {
        if length < 40 {
            return;
        }
        let code = u32::from_ne_bytes(request[4..8].try_into().unwrap());
        let mut body = Vec::new();
        let mut error = 0_i32;
        match code {
            // Forget: nobody waits.
            2 | 42 => continue,
            // Attributes: a folder of everybody's.
            3 => {
                body = vec![0; 104];
                body[16..24].copy_from_slice(&1_u64.to_ne_bytes());
                body[76..80].copy_from_slice(&0o040_777_u32.to_ne_bytes());
                body[80..84].copy_from_slice(&2_u32.to_ne_bytes());
            }
            17 => body = vec![0; 80],
            // Begin, in version 7.31.
            26 => {
                body = vec![0; 64];
                body[0..4].copy_from_slice(&7_u32.to_ne_bytes());
                body[4..8].copy_from_slice(&31_u32.to_ne_bytes());
                body[20..24].copy_from_slice(&4096_u32.to_ne_bytes());
            }
            1 => error = -2,
            _ => error = -38,
        }
        let mut answer = Vec::new();
        answer.extend((16 + body.len() as u32).to_ne_bytes());
        answer.extend(error.to_ne_bytes());
        answer.extend(&request[8..16]);
        answer.extend(body);
        let _ = device.write_all(&answer);
    }
}

#[test]
fn a_network_file_system_is_not_written_to() {
    let study = Recipe::default().lay();
    let place = study.folder.path().join("mounted");
    fs::create_dir(&place).unwrap();
    let device = File::options().read(true).write(true).open("/dev/fuse");
    let Ok(device) = device else {
        println!("not covered: a mounted FUSE, since /dev/fuse cannot be opened");
        return;
    };
    // The device is the child's standard input.
    let mounted = Command::new("mount")
        .args([
            "-i",
            "-t",
            "fuse",
            "-o",
            "fd=0,rootmode=40000,user_id=0,group_id=0",
            "prereg-test",
        ])
        .arg(&place)
        .stdin(device.try_clone().unwrap())
        .output();
    if !mounted
        .as_ref()
        .is_ok_and(|mounted| mounted.status.success())
    {
        println!("not covered: a mounted FUSE, since it may not be mounted: {mounted:?}");
        return;
    }
    let server = std::thread::spawn(move || answer_for_nothing(device));
    let db = place.join("study.prereg.db");
    let db = db.to_str().unwrap();
    let said = [
        study.prereg(&["register", "study.toml", "--db", db, "--json"]),
        study.prereg(&["run", "study.toml", "--db", db, "--json"]),
    ];
    // A link to it from a local folder is no way around.
    std::os::unix::fs::symlink(&place, study.base.join("link")).unwrap();
    let linked = study.prereg(&["register", "study.toml", "--db", "link/study.prereg.db"]);
    let read = study.prereg(&["status", db, "--json"]);
    let unmounted = Command::new("umount").arg(&place).status();
    assert!(unmounted.unwrap().success());
    server.join().unwrap();
    for said in said {
        assert_eq!(said.code, Some(1), "{said:?}");
        assert_eq!(said.error_code(), "network-file-system", "{said:?}");
        assert!(said.out.contains("is on FUSE"), "{said:?}");
    }
    assert_eq!(linked.code, Some(1), "{linked:?}");
    assert!(linked.err.contains("network-file-system"), "{linked:?}");
    // Reading is let through: there is none.
    assert_eq!(read.error_code(), "record-not-found", "{read:?}");
    assert_eq!(fs::read_dir(&place).unwrap().count(), 0);
    study.complete();
}

/// Returns what the clock of each entry was said to be.
fn clocks(study: &Study) -> Vec<serde_json::Value> {
    let clock = |entry: &serde_json::Value| entry["command"]["clock"].clone();
    study.entries().iter().map(clock).collect()
}

#[test]
fn a_clock_that_is_set_back_is_flagged_and_decides_nothing() {
    let study = Recipe::default().lay();
    study.register();
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    // An hour ahead of everybody.
    WALL.set(now.unwrap().as_micros() as i64 + 3_600_000_000);
    let mut store = Store::open(&study.record(), wall).unwrap();
    store.keep_pace(|| Micros(STEADY.get()));
    deviate(&mut store, "by a clock that is fast".to_owned());
    pass(60);
    deviate(&mut store, "a minute later".to_owned());
    // Set back by a day, while ten seconds pass.
    pass(10);
    WALL.set(WALL.get() - 86_400_000_000);
    deviate(&mut store, "set back".to_owned());
    pass(10);
    deviate(&mut store, "still behind".to_owned());
    drop(store);
    let started = study.data(&["start", "t0", "a"]);
    assert_eq!(started["run"], 1);
    let clocks = clocks(&study);
    assert!(
        clocks[..4].iter().all(serde_json::Value::is_null),
        "{clocks:?}"
    );
    assert_eq!(
        clocks[4],
        serde_json::json!({ "behind": 86_390_000_000_u64, "jumped": -86_400_000_000_i64 })
    );
    assert_eq!(
        clocks[5],
        serde_json::json!({ "behind": 86_380_000_000_u64 })
    );
    let behind = clocks[6]["behind"].as_u64().unwrap();
    assert!((3_500_000_000..3_660_000_000).contains(&behind), "{behind}");
    let times: Vec<i64> = study
        .entries()
        .iter()
        .map(|entry| entry["command"]["at"].as_i64().unwrap())
        .collect();
    assert!(times.is_sorted() && times[3] == times[6], "{times:?}");
    study.verify();
    for verb in [&["status"][..], &["verify", "study.prereg.db"]] {
        let said = study.prereg(verb).out;
        let line = |says: &str| {
            said.lines()
                .any(|line| line.contains("clock ") && line.contains(says))
        };
        assert!(line("3 entries have the time of the one before"), "{said}");
        assert!(line("by 86390s at the most"), "{said}");
        assert!(
            line("the clock was set 1 time during a session, by 24h at the most"),
            "{said}"
        );
    }
    let status = study.data(&["status"]);
    assert_eq!(status["standing"]["clock"]["behind"], 3);
    assert_eq!(
        study.data(&["verify", "study.prereg.db"])["clock"]["jumps"],
        1
    );
}

#[test]
fn a_study_is_answered_alike_whatever_its_clock_does() {
    // Steps back and forth, over the end of 32-bit time and to its beginning.
    let steps = [
        -1,
        1,
        -61,
        61,
        -3600,
        3600,
        -86_400,
        86_400,
        400_000_000,
        -1_700_000_000,
    ];
    let answers = |steps: &[i64]| {
        let study = Recipe::default().lay();
        study.register();
        WALL.set(1_900_000_000_000_000);
        let mut store = Store::open(&study.record(), wall).unwrap();
        store.keep_pace(|| Micros(STEADY.get()));
        let mut answers = Vec::new();
        for (step, seconds) in steps.iter().enumerate() {
            WALL.set(WALL.get() + seconds * 1_000_000);
            pass(1);
            let run = step as u64 + 1;
            for action in [
                Action::Start {
                    task: format!("t{}", step % 2),
                    arm: ["a", "b"][step / 2 % 2].to_owned(),
                    executed: prereg::engine::command::Executed::Elsewhere(None),
                },
                Action::Finish {
                    run: prereg::units::RunId(run),
                    ending: Default::default(),
                    execution: Some(Default::default()),
                },
            ] {
                let request = Request {
                    actor: "user".to_owned(),
                    key: None,
                    expects: None,
                    action,
                };
                let given = store.write(|writer| writer.apply(request)).unwrap();
                // Of a refusal its code: its facts may be times.
                answers.push(given.ruling.map_err(|refusal| refusal.code().to_owned()));
            }
        }
        drop(store);
        study_verifies(&study);
        (
            answers,
            study.data(&["status"])["standing"]["clock"].clone(),
        )
    };
    let (stepped, clock) = answers(&steps);
    let (steady, right) = answers(&[0; 10]);
    assert_eq!(stepped, steady);
    assert!(right.is_null(), "{right}");
    assert_eq!(clock["jumps"], 8, "{clock}");
}

/// A journal of SQLite that says of a file of pages of 4,096 bytes: it was empty before.
fn journal_of_nothing() -> Vec<u8> {
    let mut journal = vec![0xd9, 0xd5, 0x05, 0xf9, 0x20, 0xa1, 0x63, 0xd7];
    for word in [0_u32, 7, 0, 512, 4096] {
        journal.extend(word.to_be_bytes());
    }
    journal.resize(512, 0);
    journal
}

#[test]
fn a_record_whose_making_the_power_cut_off_is_made_anew() {
    let whole = Recipe::default().lay();
    let connection = Connection::open(whole.record()).unwrap();
    let wal = connection.pragma_update_and_check(None, "journal_mode", "WAL", |_| Ok(()));
    wal.unwrap();
    let page = fs::read(whole.record()).unwrap();
    connection.execute_batch("CREATE TABLE t (x)").unwrap();
    let header = fs::read(log_of(&whole)).unwrap()[..32].to_vec();
    let torn = [&vec![0; 512], &page[512..]].concat();
    for (file, log) in [(&torn, None), (&page, None), (&page, Some(header))] {
        for verb in ["register", "run"] {
            let study = Recipe::default().lay();
            fs::write(study.record(), file).unwrap();
            fs::write(
                study.base.join("study.prereg.db-journal"),
                journal_of_nothing(),
            )
            .unwrap();
            if let Some(header) = &log {
                fs::write(log_of(&study), header).unwrap();
            }
            // Looking changes nothing: whoever writes makes it anew.
            assert_eq!(study.prereg(&["status"]).code, Some(1));
            assert!(fs::read(study.record()).unwrap() == *file);
            let said = study.prereg(&[verb, "study.toml"]);
            assert_eq!(said.code, Some(0), "{said:?}");
            study.verify();
        }
    }
}

#[test]
fn a_journal_beside_a_record_is_not_rolled_back_over_it() {
    let study = Recipe::default().lay();
    study.complete();
    let journal = study.base.join("study.prereg.db-journal");
    for written in [journal_of_nothing(), b"x".to_vec()] {
        fs::write(&journal, written).unwrap();
        assert_faults(&study, "foreign-log", "is not the log of");
    }
    // Nor does it make of a broken file one that was only begun.
    let whole = fs::read(study.record()).unwrap();
    for broken in [vec![7; 8192], [&vec![0; 512], &whole[512..]].concat()] {
        fs::write(study.record(), broken).unwrap();
        let said = study.prereg(&["verify", "study.prereg.db"]);
        assert_ne!(said.code, Some(0), "{said:?}");
    }
    fs::write(study.record(), &whole).unwrap();
    fs::remove_file(&journal).unwrap();
    let connection = Connection::open(study.record()).unwrap();
    connection.execute_batch("DELETE FROM marks").unwrap();
    drop(connection);
    for written in [None, Some(journal_of_nothing())] {
        if let Some(written) = written {
            fs::write(&journal, written).unwrap();
        }
        let said = study.prereg(&["verify", "study.prereg.db"]);
        assert_ne!(said.code, Some(0), "{said:?}");
    }
}

#[test]
fn what_stands_beside_a_record_in_the_place_of_a_file_is_not_written_through() {
    let study = Recipe::default().lay();
    study.complete();
    let place = |suffix: &str| study.base.join(format!("study.prereg.db{suffix}"));
    tidy(&study);
    for suffix in ["-journal", "-wal", "-shm"] {
        put_pipe(&place(suffix));
        assert_faults(&study, "not-file", "is not a regular file");
        fs::remove_file(place(suffix)).unwrap();
    }
    fs::remove_file(place("-lock")).unwrap();
    study.write("precious", "my own notes");
    for suffix in ["-lock", ".anchors"] {
        for target in ["precious", "nowhere"] {
            std::os::unix::fs::symlink(target, place(suffix)).unwrap();
            let said = study.prereg(&["deviate", "--note", "any", "--json"]);
            assert_eq!(
                (said.code, said.error_code()),
                (Some(1), "record-link".to_owned()),
                "{said:?}"
            );
            fs::remove_file(place(suffix)).unwrap();
        }
    }
    let precious = fs::read_to_string(study.base.join("precious")).unwrap();
    assert_eq!(precious, "my own notes");
    assert!(!study.base.join("nowhere").exists());
    study.verify();
}

#[test]
fn what_was_only_begun_is_empty_and_a_protocol_is_no_record() {
    let study = Recipe::default().lay();
    let connection = Connection::open(study.record()).unwrap();
    connection
        .execute_batch("CREATE TABLE made (one); DROP TABLE made;")
        .unwrap();
    drop(connection);
    assert_eq!(study.data(&["verify", "study.prereg.db"])["state"], "empty");
    // A head that was published of it was of more.
    let line = format!("prereg-head/1 study 3 {}\n", "0".repeat(64));
    study.write("study.prereg.db.anchors", &line);
    let said = study.prereg(&["verify", "study.prereg.db", "--json"]);
    assert_eq!(
        (said.code, said.error_code().as_str()),
        (Some(5), "behind-anchor")
    );

    let said = study.prereg(&["verify", "study.toml", "--json"]);
    assert_eq!(
        (said.code, said.error_code().as_str()),
        (Some(2), "protocol-given")
    );
    let message = said.json()["error"]["message"].as_str().unwrap().to_owned();
    assert!(message.contains("prereg check study.toml"), "{message}");
    study.write("words.txt", "neither this nor that\n");
    let said = study.prereg(&["verify", "words.txt", "--json"]);
    assert_eq!(
        (said.code, said.error_code().as_str()),
        (Some(5), "not-a-record")
    );
}
