//! A plan in plain English: nothing that is registered is left out, and nothing of an author's gets out.
//!
//! Completeness is tried leaf by leaf: whatever a registration holds is changed to something else
//! that may stand there, and the text must change with it.

#![allow(
    clippy::unwrap_used,
    reason = "a test that cannot go on fails where it stands"
)]

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use prereg::folder::DiskFolder;
use prereg::protocol::check::{Checked, check};
use prereg::protocol::registration::Registration;
use prereg::protocol::shape;
use prereg::report::explain::explain;
use serde_json::{Value, json};

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn load_text(place: &Path, text: &str) -> Checked {
    check(text.as_bytes(), &DiskFolder::at(place.parent().unwrap())).unwrap()
}

fn load(place: &Path) -> Checked {
    load_text(place, &fs::read_to_string(place).unwrap())
}

/// Returns the protocol with every table.
fn annotated() -> PathBuf {
    root().join("protocols/annotated.toml")
}

/// Says a registration, without the digest of everything, which tells of every change.
fn said(registration: &Registration, checked: &Checked) -> String {
    let text = explain(registration, &checked.tasks);
    let digest = registration.digest().to_string();
    assert_eq!(text.matches(&digest).count(), 1);
    text.replace(&digest, "")
}

fn snapshot(name: &str, text: &str) {
    let mut settings = insta::Settings::new();
    settings.set_snapshot_path(root().join("snapshots"));
    settings.set_prepend_module_to_snapshot(false);
    settings.set_omit_expression(true);
    settings.bind(|| insta::assert_snapshot!(format!("explain__{name}"), text));
}

#[test]
fn every_protocol_that_ships_is_a_snapshot() {
    let files = fs::read_dir(root().join("protocols")).unwrap();
    let mut places: Vec<PathBuf> = files.map(|file| file.unwrap().path()).collect();
    places.retain(|place| place.extension().is_some_and(|end| end == "toml"));
    assert!(places.contains(&annotated()));
    for place in places {
        let checked = load(&place);
        let text = explain(&checked.registration, &checked.tasks);
        assert_eq!(text, explain(&checked.registration, &checked.tasks));
        snapshot(&place.file_stem().unwrap().to_string_lossy(), &text);
    }
}

#[test]
fn a_reformatted_protocol_is_said_in_the_same_words() {
    let place = root().join("protocols/minimal.toml");
    let text = fs::read_to_string(&place).unwrap();
    let other = text.replace("allocation = { repeats = 2 }\n", "").replace(
        "{ id = \"found\", kind = \"binary\",",
        "{ kind = \"binary\", id = \"found\",",
    );
    let other =
        format!("# moved\n{other}\n\n[allocation]\narms = \"counterbalanced\"\nrepeats=2\n");
    let (one, other) = (load(&place), load_text(&place, &other));
    assert_eq!(one.registration.digest(), other.registration.digest());
    assert_eq!(
        explain(&one.registration, &one.tasks),
        explain(&other.registration, &other.tasks)
    );
}

/// Puts a value where the annotated protocol leaves a key out, or has it empty.
fn complete(value: &mut Value) {
    let comparison = |outcome: &str, margin: Value| {
        json!({
            "outcome": outcome, "estimand": "available", "effect": "paired_diff",
            "test": "sign_flip", "interval": "tango", "alternative": "greater",
            "objective": "non_inferiority", "margin": margin,
        })
    };
    let digest = "0123456789abcdef".repeat(4);
    let probe = json!({
        "id": "settings", "command": ["cat", "settings.json"], "format": "json",
        "expect": { "model": "one" }, "expect_absent": ["hooks"], "record_only": ["time"],
    });
    let reading = json!({
        "id": "load", "fields": { "one": "number" }, "from": "command",
        "command": ["uptime"], "unknown_when": "reading.one < 0.0",
    });
    let puts = [
        (
            "/study/supersedes",
            json!({ "study": "first", "registration": digest, "reason": "a slip", "seen": "none" }),
        ),
        (
            "/open_fields",
            json!({ "fail_to_pass_count": "integer", "repo": "string" }),
        ),
        ("/draw/classes", json!(["^A-([0-9]+)$", "^B"])),
        ("/arms/0/files", json!({ "notes.md": "notes/one.md" })),
        ("/arms/0/differs", json!(["files"])),
        ("/stages/0/opens", json!("now > now")),
        (
            "/stages/0/fits",
            json!({ "margin": { "num": 3, "den": 2 }, "estimate": "median_complete_block" }),
        ),
        ("/attempts/rerun_on_request", json!(["failed", "cancelled"])),
        ("/readings/0/command", json!(["quota"])),
        ("/readings/1", reading),
        ("/stops/0/shows", json!("readings.load.one")),
        ("/holds/0/shows", json!("readings.load.one")),
        (
            "/budgets/1",
            json!({ "counts": "reruns", "per": "arm", "max": { "count": 7 }, "reserve": 1_000_000, "unknown": "hold" }),
        ),
        ("/breaker/arms", json!(["baseline"])),
        ("/probes/0/expect_absent", json!(["a"])),
        ("/probes/0/record_only", json!(["b"])),
        ("/probes/1", probe),
        ("/analysis/inference", json!("tasks_sampled")),
        ("/analysis/resamples", json!(9999)),
        (
            "/analysis/primary",
            comparison("resolved", json!({ "num": 1, "den": 20 })),
        ),
        (
            "/analysis/secondary/0/comparison",
            comparison("false_claim", json!({ "num": 3, "den": 50 })),
        ),
        ("/analysis/multiplicity/gate", json!("primary")),
        (
            "/analysis/looks",
            json!({ "fractions": [{ "num": 1, "den": 2 }, { "num": 1, "den": 1 }], "spending": "obf", "under_run": "spend_to_t", "evalue": true }),
        ),
        (
            "/analysis/descriptive",
            json!({ "pass_at": [1, 3], "pass_hat": [2], "time_to_success": { "limit": 3_600_000_000_u64 }, "cost_effectiveness": { "lambda": [1_000_000, 2_500_000] }, "subgroups": ["repo"] }),
        ),
        ("/outcomes/2/missing", json!(1)),
    ];
    for (pointer, put) in puts {
        let (table, key) = pointer.rsplit_once('/').unwrap();
        match value["protocol"].pointer_mut(table).unwrap() {
            Value::Array(items) if key == items.len().to_string() => items.push(put),
            Value::Array(items) => items[key.parse::<usize>().unwrap()] = put,
            other => other[key] = put,
        }
    }
}

fn read(value: &Value) -> Option<Registration> {
    serde_json::from_value(value.clone()).ok()
}

/// Returns every word that some key of the language can have.
fn words() -> BTreeSet<String> {
    fn collect(value: &Value, found: &mut BTreeSet<String>) {
        match value {
            Value::Object(object) => {
                for (key, inner) in object {
                    let word = inner.as_str().filter(|_| key == "const");
                    found.extend(word.map(str::to_owned));
                    collect(inner, found);
                }
            }
            Value::Array(items) => {
                for item in items {
                    found.extend(item.as_str().map(str::to_owned));
                    collect(item, found);
                }
            }
            _ => {}
        }
    }
    let mut found = BTreeSet::new();
    collect(&shape::schema(), &mut found);
    found
}

/// Returns the pointer of everything in a value, tables and lists before what they hold.
fn pointers(value: &Value, at: &str, found: &mut Vec<String>) {
    found.push(at.to_owned());
    let inner: Vec<(String, &Value)> = match value {
        Value::Object(object) => object
            .iter()
            .map(|(key, value)| (key.replace('~', "~0").replace('/', "~1"), value))
            .collect(),
        Value::Array(items) => items
            .iter()
            .enumerate()
            .map(|(i, value)| (i.to_string(), value))
            .collect(),
        _ => Vec::new(),
    };
    for (key, value) in inner {
        pointers(value, &format!("{at}/{key}"), found);
    }
}

/// Returns what else might stand in a place; not all of it can.
fn others(value: &Value) -> Vec<Value> {
    let mut others = vec![Value::Null];
    match value {
        Value::Null => {}
        Value::Bool(flag) => others.push(json!(!flag)),
        Value::Number(number) => {
            let longer = if number.to_string() == "0" {
                "1".to_owned()
            } else {
                format!("{number}1")
            };
            others.push(serde_json::from_str(&longer).unwrap());
        }
        Value::String(text) => {
            others.push(json!(format!("{text}x")));
            others.push(json!(format!("{text}\n")));
            others.push(json!("f".repeat(64)));
        }
        Value::Array(items) => {
            others.push(json!([]));
            let mut turned = items.clone();
            turned.reverse();
            others.push(json!(turned));
        }
        Value::Object(object) => {
            others.push(json!({}));
            for key in object.keys() {
                let mut renamed = object.clone();
                let value = renamed.remove(key).unwrap();
                renamed.insert(format!("{key}x"), value);
                others.push(json!(renamed));
            }
        }
    }
    others.retain(|other| other != value);
    others
}

/// What was tried on a registration.
#[derive(Default)]
struct Tried {
    /// Changes that the text does not tell.
    silent: Vec<String>,
    /// Places that nothing else can stand in.
    fixed: Vec<String>,
    /// How many changes there were.
    changes: usize,
}

/// Changes everything that a registration holds, one thing at a time.
fn try_all(value: &Value, checked: &Checked) -> Tried {
    let whole = read(value).unwrap();
    let text = said(&whole, checked);
    let words: Vec<Value> = words().into_iter().map(Value::from).collect();
    let mut all = Vec::new();
    pointers(value, "", &mut all);
    let mut tried = Tried::default();
    for pointer in all {
        let found = value.pointer(&pointer).unwrap();
        let mut try_each = |others: &[Value]| {
            let mut valid = 0;
            for other in others.iter().filter(|other| *other != found) {
                let mut changed = value.clone();
                *changed.pointer_mut(&pointer).unwrap() = other.clone();
                let Some(registration) = read(&changed) else {
                    continue;
                };
                if registration == whole {
                    continue;
                }
                valid += 1;
                if said(&registration, checked) == text {
                    tried.silent.push(format!("{pointer}: {found} to {other}"));
                }
            }
            tried.changes += valid;
            valid
        };
        let mut valid = try_each(&others(found));
        // What takes no other text takes one of the language's words.
        if found.is_string() && try_each(&[json!("any text")]) == 0 {
            valid += try_each(&words);
        }
        // A key that is left out is tried where it is given.
        if valid == 0 && !(found.is_object() || found.is_array() || found.is_null()) {
            tried.fixed.push(pointer);
        }
    }
    tried
}

#[test]
fn whatever_is_registered_is_said() {
    let checked = load(&annotated());
    let value = checked.registration.value();
    let mut completed = value.clone();
    complete(&mut completed);
    let mut fixed = BTreeSet::new();
    for value in [value, completed] {
        let tried = try_all(&value, &checked);
        let silent = tried.silent.join("\n");
        assert!(silent.is_empty(), "not said:\n{silent}");
        assert!(tried.changes > 800, "only {} changes", tried.changes);
        fixed.extend(tried.fixed);
    }
    // The language has one word for each of these.
    let only = [
        "/protocol/evidence/0",
        "/protocol/outage/window",
        "/protocol/stages/0/fits/estimate",
        "/protocol/stages/1/fits/estimate",
    ];
    let fixed: Vec<&str> = fixed.iter().map(String::as_str).collect();
    assert_eq!(fixed, only, "what could not be tried");
}

#[test]
fn nothing_is_left_empty_where_completeness_is_tried() {
    let checked = load(&annotated());
    let mut value = checked.registration.value();
    complete(&mut value);
    let mut all = Vec::new();
    pointers(&value, "", &mut all);
    let is_empty = |pointer: &&String| {
        let found = value.pointer(pointer).unwrap();
        found.is_null() || *found == json!([]) || *found == json!({})
    };
    let empty: Vec<&String> = all.iter().filter(is_empty).collect();
    assert_eq!(empty, Vec::<&String>::new());
}

/// Says what of a page's own marks an author's text has broken: one finding a line.
fn broken(page: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut fence: Option<String> = None;
    for line in page.lines() {
        if line
            .chars()
            .any(|c| c.is_control() || ('\u{202a}'..='\u{202e}').contains(&c))
        {
            found.push(format!("a character that cannot be seen: {line:?}"));
        }
        let inner = line.trim_start();
        match &fence {
            Some(end) if inner == end => fence = None,
            Some(_) => {}
            None if inner.starts_with("```") && line.starts_with("  ") => {
                fence = Some("`".repeat(inner.len() - inner.trim_start_matches('`').len()));
            }
            None => {
                let text = line.trim_start_matches('#').trim_start_matches("- ");
                if let Some(mark) = mark(text) {
                    found.push(format!("`{mark}` is a mark: {line}"));
                }
            }
        }
    }
    found.extend(fence.map(|_| "a block is not closed".to_owned()));
    found
}

/// Returns the first mark of a line outside code that is not escaped.
fn mark(text: &str) -> Option<char> {
    let mut rest = text;
    while let Some(at) = rest.find(|c| "\\`*_[]<>#|~&$".contains(c)) {
        let (c, after) = (rest[at..].chars().next()?, &rest[at + 1..]);
        rest = match c {
            '\\' => after.get(1..)?,
            '`' => {
                let run = rest[at..].len() - rest[at..].trim_start_matches('`').len();
                let body = &rest[at + run..];
                let end = closing(body, run);
                &body[end? + run..]
            }
            mark => return Some(mark),
        };
    }
    None
}

/// Returns where a run of exactly so many backticks begins.
fn closing(text: &str, run: usize) -> Option<usize> {
    let mut at = 0;
    while let Some(next) = text[at..].find('`').map(|next| at + next) {
        let found = text[next..].len() - text[next..].trim_start_matches('`').len();
        if found == run {
            return Some(next);
        }
        at = next + found;
    }
    panic!("code is not closed: {text}")
}

#[test]
fn no_text_of_an_author_leaves_its_place() {
    let checked = load(&annotated());
    let headings = |text: &str| text.lines().filter(|line| line.starts_with('#')).count();
    let mut value = checked.registration.value();
    complete(&mut value);
    let benign = headings(&said(&read(&value).unwrap(), &checked));
    for hostile in [
        "`|<b onclick=x>&amp; ![a](b) ``` ~~~ $x$ * _ # \u{1b}[2J\u{202e}\r\\",
        "\n# one\n```\n- two\n  ````\n<script>\u{7}\n\n    three\n",
    ] {
        let mut value = value.clone();
        let mut all = Vec::new();
        pointers(&value, "", &mut all);
        let mut placed = 0;
        for pointer in all {
            let Some(text) = value.pointer(&pointer).and_then(Value::as_str) else {
                continue;
            };
            let mut changed = value.clone();
            *changed.pointer_mut(&pointer).unwrap() = json!(format!("{text}{hostile}"));
            if read(&changed).is_some() {
                value = changed;
                placed += 1;
            }
        }
        assert!(placed > 100, "only {placed} texts");
        let text = said(&read(&value).unwrap(), &checked);
        assert_eq!(broken(&text), Vec::<String>::new());
        assert_eq!(headings(&text), benign);
    }
}
