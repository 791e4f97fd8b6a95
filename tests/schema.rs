//! The JSON Schema of the protocol file against the checker.
//!
//! Editors know the schema alone, so it must not refuse what `check` accepts, and must refuse what
//! is wrong with a file's shape: a key that is unknown, missing or mistyped, a word that is not in
//! its list, a literal out of range. What relates two values of a file is beyond a schema.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a test that cannot go on fails where it stands"
)]

mod schema_common;

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use jsonschema::{Draft, Validator};
use prereg::cli::render;
use prereg::folder::DiskFolder;
use prereg::protocol::check::check;
use prereg::protocol::defect::{Code, Defect, Place};
use prereg::protocol::expression::Expression;
use prereg::protocol::folder::Folder;
use prereg::protocol::shape;
use proptest::collection::vec;
use proptest::prelude::any;
use proptest::test_runner::{Config, TestRunner};
use schema_common::{Choices, MemoryFolder, protocol, slip, with_limitations, written};
use serde_json::{Value, json};

/// Where the malformed protocols are, and sound ones beside them.
const MALFORMED: &str = "tests/protocols";

/// The codes of what a schema can see: the shape of a file.
const SHAPE: &[Code] = &[
    Code::UnknownKey,
    Code::MissingKey,
    Code::Type,
    Code::Word,
    Code::Range,
    Code::Literal,
    Code::Id,
];

/// Malformed protocols whose defect has a code of shape and is yet beyond a schema.
const BEYOND: &[&str] = &[
    // To JSON Schema 2.0 is an integer.
    "language-as-float",
    "per-slot-as-float",
    "repeats-as-float",
    // Another grammar.
    "class-not-a-regular-expression",
    // One value against another.
    "arm-grace-longer-than-its-timeout",
    "arm-limit-shorter-than-the-grace",
    "backoff-first-longer-than-longest",
    "error-share-above-one",
    "grace-longer-than-timeout",
    "looks-out-of-order",
    "margin-above-one-on-a-binary-outcome",
    "pass-at-more-than-repeats",
    "reserve-larger-than-max",
    "stale-after-before-an-arms-timeout",
    "stale-after-before-the-timeout",
    "stale-after-default-too-short",
    "stale-after-equals-the-limit",
];

/// Where one value is measured by another; of a share as text, the numerator by the denominator.
const RELATED: &[&str] = &[
    "/backoff/initial",
    "/reserve",
    "/grace",
    "/stale_after",
    "/pass_at/",
    "/pass_hat/",
    "/fractions/",
    "share",
];

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn validator() -> Validator {
    jsonschema::validator_for(&shape::schema()).unwrap()
}

/// Reads TOML as an editor does: by serde, with no help of the checker.
fn as_json(text: &str) -> Option<Value> {
    let table: toml::Table = toml::from_str(text).ok()?;
    serde_json::to_value(table).ok()
}

/// Returns every TOML file below a folder.
fn toml_files(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).unwrap();
    let mut found = Vec::new();
    for path in entries.map(|entry| entry.unwrap().path()) {
        if path.is_dir() {
            found.extend(toml_files(&path));
        } else if path.extension().is_some_and(|end| end == "toml") {
            found.push(path);
        }
    }
    found.sort();
    found
}

fn said(validator: &Validator, value: &Value) -> Vec<String> {
    let errors = validator.iter_errors(value);
    errors
        .map(|error| format!("{} at {}", error, error.instance_path()))
        .collect()
}

/// Returns the pointer of a defect in the protocol itself; empty for the file as a whole.
fn pointer(defect: &Defect) -> Option<&str> {
    match &defect.place {
        _ if defect.file.is_some() => None,
        Place::Key(at) | Place::Value(at) | Place::Within(at, _) => Some(at),
        Place::File => Some(""),
        Place::Span(_) => None,
    }
}

/// Returns whether a defect is one that a schema can see.
fn is_of_shape(defect: &Defect) -> bool {
    SHAPE.contains(&defect.code) && defect.file.is_none()
}

/// Walks every subschema that says what may stand at a place, with its pointer in the schema.
fn subschemas(schema: &Value, at: &str, each: &mut impl FnMut(&str, &Value)) {
    each(at, schema);
    for (name, property) in schema["properties"].as_object().into_iter().flatten() {
        subschemas(property, &format!("{at}/properties/{name}"), each);
    }
    for key in ["items", "additionalProperties"] {
        if schema[key].is_object() {
            subschemas(&schema[key], &format!("{at}/{key}"), each);
        }
    }
    for (i, choice) in schema["oneOf"].as_array().into_iter().flatten().enumerate() {
        subschemas(choice, &format!("{at}/oneOf/{i}"), each);
    }
}

#[test]
fn the_schema_is_one_of_its_own_draft() {
    let schema = shape::schema();
    assert_eq!(schema["$schema"], "http://json-schema.org/draft-07/schema#");
    jsonschema::draft7::meta::validate(&schema).unwrap();
    // Nothing has to be looked up, and no keyword means something else in a later draft.
    let text = schema.to_string();
    for word in [
        "\"$ref\"",
        "\"$defs\"",
        "\"definitions\"",
        "\"nullable\"",
        "null",
    ] {
        let is_word_of_cel = word == "null" && text.matches("null").count() == 1;
        assert!(!text.contains(word) || is_word_of_cel, "{word}");
    }
}

#[test]
fn the_readme_shows_editors_the_way() {
    let readme = fs::read_to_string(root().join("README.md")).unwrap();
    for part in [
        "prereg schema > protocol.schema.json",
        "`#:schema protocol.schema.json`",
    ] {
        assert!(readme.contains(part), "{part}");
    }
}

#[test]
fn every_table_and_key_is_described() {
    let mut complaints = Vec::new();
    let mut described = 0;
    subschemas(&shape::schema(), "", &mut |at, schema| {
        let names_a_key = at.rsplit('/').nth(1) == Some("properties");
        let is_table = schema["properties"].is_object();
        if !names_a_key && !is_table {
            return;
        }
        let text = schema["description"].as_str().unwrap_or_default();
        described += 1;
        if !text.ends_with('.') || text.len() < 15 || text.contains('\n') {
            complaints.push(format!("{at}: {text:?}"));
        }
    });
    assert!(complaints.is_empty(), "{complaints:#?}");
    assert!(described > 200, "{described}");
}

#[test]
fn every_example_and_every_default_may_stand_where_it_is_given() {
    let (mut examples, mut defaults) = (0, 0);
    subschemas(&shape::schema(), "", &mut |at, schema| {
        let validator = jsonschema::options()
            .with_draft(Draft::Draft7)
            .build(schema);
        let validator = validator.unwrap();
        let given = schema["examples"].as_array().into_iter().flatten();
        for example in given {
            examples += 1;
            let wrong = said(&validator, example);
            assert!(wrong.is_empty(), "{at}: {example}: {wrong:?}");
            if schema["title"] == "a CEL expression" {
                let text = example.as_str().unwrap();
                assert!(Expression::parse(text).is_ok(), "{at}: {text}");
            }
        }
        if let Some(default) = schema.get("default") {
            defaults += 1;
            let wrong = said(&validator, default);
            assert!(wrong.is_empty(), "{at}: {default}: {wrong:?}");
        }
        // Who meets a key for the first time sees one way to write it.
        let kind = &schema["type"];
        let is_leaf = kind != "object" && schema["enum"].is_null() && kind != "boolean";
        let lists_tables = schema["items"]["type"] == "object";
        let names_a_key = at.rsplit('/').nth(1) == Some("properties");
        if names_a_key && is_leaf && !lists_tables && schema["const"].is_null() {
            let words = !schema["items"]["enum"].is_null();
            let shown = schema.get("examples").is_some() || schema.get("default").is_some();
            assert!(shown || words, "{at} has no example");
        }
    });
    assert!(examples > 100 && defaults > 25, "{examples}, {defaults}");
}

/// What `check` says of a value: the digest of the registration, or the defects.
fn checked(value: &Value, folder: &dyn Folder) -> Result<String, Vec<Defect>> {
    let checked = check(written(value).text.as_bytes(), folder)?;
    Ok(checked.registration.digest().to_string())
}

#[test]
fn a_default_means_the_same_written_or_not() {
    let folder = MemoryFolder::default();
    let full = with_limitations(protocol(&mut Choices::full()), &folder);
    let full_digest = checked(&full, &folder).unwrap();
    let mut compared = 0;
    subschemas(&shape::schema(), "", &mut |at, schema| {
        let Some(default) = schema.get("default") else {
            return;
        };
        let place = at.replace("/properties", "").replace("/items", "/0");
        let (table, key) = place.rsplit_once('/').unwrap();
        let with = |value: Option<&Value>| {
            let mut protocol = full.clone();
            // One attempt and causes for a second one contradict one another.
            if place == "/attempts/per_slot" {
                protocol["attempts"]
                    .as_object_mut()
                    .unwrap()
                    .retain(|key, _| !key.starts_with("rerun"));
            }
            // Looks are at one treatment.
            if place.starts_with("/analysis/looks/") {
                let analysis = &mut protocol["analysis"];
                analysis["treatments"] = json!([analysis["treatments"][0]]);
                analysis["looks"] = json!({ "fractions": [0.5, 1.0], "spending": "obf" });
            }
            let table = protocol.pointer_mut(table).and_then(Value::as_object_mut);
            let table =
                table.unwrap_or_else(|| panic!("{place}: the full protocol has no such table"));
            match value {
                Some(value) => table.insert(key.to_owned(), value.clone()),
                None => table.remove(key),
            };
            if place == "/limitations" {
                return protocol;
            }
            with_limitations(protocol, &folder)
        };
        let (absent, present) = (with(None), with(Some(default)));
        compared += 1;
        match (checked(&absent, &folder), checked(&present, &folder)) {
            (Ok(absent), Ok(present)) => assert_eq!(absent, present, "{place}"),
            (Err(absent), Err(present)) => {
                let codes =
                    |found: Vec<Defect>| found.iter().map(|one| one.code).collect::<Vec<_>>();
                assert_eq!(codes(absent), codes(present), "{place}");
            }
            differently => panic!("{place}: {differently:?}"),
        }
    });
    assert!(compared > 25, "{compared}");
    assert_eq!(checked(&full, &folder).unwrap(), full_digest);
}

#[test]
fn what_ships_is_accepted() {
    let validator = validator();
    let shipped = toml_files(&root().join("protocols"));
    assert!(shipped.len() >= 2);
    for path in shipped {
        let text = fs::read_to_string(&path).unwrap();
        let wrong = said(&validator, &as_json(&text).unwrap());
        assert!(wrong.is_empty(), "{}: {wrong:?}", path.display());
        check(text.as_bytes(), &DiskFolder::at(path.parent().unwrap())).unwrap();
    }
}

#[test]
fn of_the_stored_protocols_it_refuses_those_whose_shape_is_wrong() {
    let validator = validator();
    let (mut refused, mut accepted) = (0, 0);
    let mut beyond: BTreeSet<&str> = BEYOND.iter().copied().collect();
    let mut complaints = Vec::new();
    for path in toml_files(&root().join(MALFORMED)) {
        let bytes = fs::read(&path).unwrap();
        let name = path.file_stem().unwrap().to_str().unwrap();
        let text = String::from_utf8_lossy(&bytes);
        let found = check(&bytes, &DiskFolder::at(path.parent().unwrap()));
        let found = found.err().unwrap_or_default();
        let Some(value) = as_json(&text) else {
            continue;
        };
        // What cannot be read (a number beyond all others, a hidden character) has no shape yet.
        let unread = |one: &Defect| one.file.is_none() && matches!(one.place, Place::Span(_));
        if !found.is_empty() && found.iter().all(|one| unread(one) && !is_of_shape(one)) {
            continue;
        }
        let wrong = said(&validator, &value);
        let of_shape: Vec<Code> = found
            .iter()
            .filter(|one| is_of_shape(one))
            .map(|one| one.code)
            .collect();
        refused += usize::from(!wrong.is_empty());
        accepted += usize::from(wrong.is_empty());
        if beyond.remove(name) {
            assert!(
                wrong.is_empty() && !of_shape.is_empty(),
                "{name} is not beyond a schema"
            );
        } else if wrong.is_empty() != of_shape.is_empty() {
            complaints.push(format!("{name}: check {of_shape:?}, schema {wrong:?}"));
        }
    }
    let hint = "if two values contradict one another, list the file under BEYOND";
    assert!(complaints.is_empty(), "{}\n{hint}", complaints.join("\n"));
    assert!(beyond.is_empty(), "listed and absent: {beyond:?}");
    assert!(refused > 50 && accepted > 50, "{refused}, {accepted}");
}

/// A change that makes a shape wrong, and the table that the caret must be in.
struct Mutation {
    said: String,
    value: Value,
    table: String,
}

/// Makes every mutation of a protocol that the schema knows to be wrong.
fn mutations(whole: &Value, schema: &Value) -> Vec<Mutation> {
    let mut made = Vec::new();
    walk(whole, whole, schema, "", &mut made);
    made
}

fn walk(whole: &Value, node: &Value, schema: &Value, at: &str, made: &mut Vec<Mutation>) {
    match node {
        Value::Object(table) => {
            // Of several forms, the one that has the key.
            let forms = schema["oneOf"].as_array().into_iter().flatten();
            let form = forms
                .chain([schema])
                .find(|form| table.keys().any(|key| form["properties"][key].is_object()));
            let schema = form.unwrap_or(schema);
            let needed: BTreeSet<&str> = schema["required"]
                .as_array()
                .into_iter()
                .flatten()
                .filter_map(Value::as_str)
                .collect();
            let is_closed = schema["additionalProperties"] == false;
            if is_closed {
                let mut value = whole.clone();
                let inside = value.pointer_mut(at).unwrap().as_object_mut().unwrap();
                inside.insert("zebra".to_owned(), json!(1));
                made.push(Mutation {
                    said: format!("an unknown key in {at}"),
                    value,
                    table: at.to_owned(),
                });
            }
            for (key, item) in table {
                let place = format!("{at}/{}", key.replace('~', "~0").replace('/', "~1"));
                if needed.contains(key.as_str()) {
                    let mut value = whole.clone();
                    value
                        .pointer_mut(at)
                        .unwrap()
                        .as_object_mut()
                        .unwrap()
                        .remove(key);
                    made.push(Mutation {
                        said: format!("without {place}"),
                        value,
                        table: at.to_owned(),
                    });
                }
                let known = [&schema["properties"][key], &schema["additionalProperties"]];
                if let Some(schema) = known.into_iter().find(|schema| schema.is_object()) {
                    mistyped(whole, item, schema, &place, at, made);
                    walk(whole, item, schema, &place, made);
                }
            }
        }
        Value::Array(items) => {
            // The items of a list have one schema: the first stands for all.
            for (i, item) in items.iter().enumerate().take(1) {
                let place = format!("{at}/{i}");
                mistyped(whole, item, &schema["items"], &place, at, made);
                walk(whole, item, &schema["items"], &place, made);
            }
        }
        _ => {}
    }
}

/// Replaces a value by one of another type, and a word by wrong ones.
fn mistyped(
    whole: &Value,
    item: &Value,
    schema: &Value,
    at: &str,
    table: &str,
    made: &mut Vec<Mutation>,
) {
    let types = [schema, &schema["oneOf"][0], &schema["oneOf"][1]];
    let types = types.into_iter().flat_map(|schema| match &schema["type"] {
        Value::Array(kinds) => kinds.clone(),
        Value::Null => Vec::new(),
        kind => vec![kind.clone()],
    });
    let mut types: Vec<String> = types
        .filter_map(|kind| kind.as_str().map(str::to_owned))
        .collect();
    if schema["title"] == "0, 1 or \"available\"" {
        types.extend(["integer".to_owned(), "string".to_owned()]);
    }
    if types.is_empty() {
        return;
    }
    let mut others = vec![
        ("boolean", json!(true)),
        ("number", json!(0.5)),
        ("integer", json!(7)),
        ("string", json!("zebra")),
        ("array", json!([])),
        ("object", json!({})),
    ];
    let numeric = types.iter().any(|kind| kind == "number");
    others.retain(|(kind, _)| {
        let may_stand = types.iter().any(|known| known == kind);
        !(may_stand || numeric && *kind == "integer")
    });
    // One other type each time, in turn: there are many values, and each is asked.
    let turn = made.len() % others.len();
    others.rotate_left(turn);
    others.truncate(1);
    let words = schema["enum"].as_array().is_some() || schema["oneOf"].is_array();
    if let (true, Some(word)) = (words, item.as_str()) {
        others.push(("wrong word", json!("zebra")));
        others.push(("wrong word", json!(word.to_uppercase())));
    }
    for (kind, other) in others {
        let mut value = whole.clone();
        *value.pointer_mut(at).unwrap() = other;
        // A table that is replaced as a whole is a key of the file.
        made.push(Mutation {
            said: format!("{at} as {kind}"),
            value,
            table: table.to_owned(),
        });
    }
}

#[test]
fn every_mutation_is_refused_by_both_in_the_right_table() {
    let validator = validator();
    let schema = shape::schema();
    let memory = MemoryFolder::default();
    let full = with_limitations(protocol(&mut Choices::full()), &memory);
    let mut protocols: Vec<(String, Value, Box<dyn Folder>)> =
        vec![("the whole language".to_owned(), full, Box::new(memory))];
    for path in toml_files(&root().join("protocols")) {
        let text = fs::read_to_string(&path).unwrap();
        let folder = MemoryFolder::of(path.parent().unwrap());
        protocols.push((
            path.display().to_string(),
            as_json(&text).unwrap(),
            Box::new(folder),
        ));
    }
    let mut counts = BTreeMap::new();
    let mut complaints = Vec::new();
    for (name, value, folder) in &protocols {
        let made = mutations(value, &schema);
        counts.insert(name, made.len());
        for mutation in made {
            let mutant = written(&mutation.value);
            if validator.is_valid(&mutation.value) {
                complaints.push(format!("{name}: {}: the schema accepts it", mutation.said));
            }
            let found = check(mutant.text.as_bytes(), folder.as_ref())
                .err()
                .unwrap_or_default();
            let of_shape: Vec<Defect> = found.into_iter().filter(is_of_shape).collect();
            let lines = render::defects_json("it", &mutant.text, &of_shape, |_| None);
            let lines: Vec<u64> = lines
                .iter()
                .map(|one| one["line"].as_u64().unwrap_or(1))
                .collect();
            let section = mutant.section(&mutation.table);
            if !lines.iter().any(|line| section.contains(line)) {
                complaints.push(format!(
                    "{name}: {}: expected lines {section:?}, found {lines:?} {of_shape:?}",
                    mutation.said
                ));
            }
        }
    }
    assert!(
        complaints.is_empty(),
        "{} of {counts:?}\n{}",
        complaints.len(),
        complaints.join("\n")
    );
    assert!(counts.values().all(|count| *count > 60), "{counts:?}");
    assert!(counts.values().sum::<usize>() > 800, "{counts:?}");
}

/// Returns whether one of two places lies in the other.
fn meet(a: &str, b: &str) -> bool {
    let inside = |a: &str, b: &str| {
        a.strip_prefix(b)
            .is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    };
    inside(a, b) || inside(b, a)
}

/// Holds the schema and the checker against one another; returns whether both accept.
fn agree(validator: &Validator, value: &Value, folder: &dyn Folder) -> Result<bool, String> {
    let text = written(value).text;
    // Through TOML and back, so that both read the same file.
    let value = as_json(&text).ok_or("the text is not TOML")?;
    let errors: Vec<_> = validator.iter_errors(&value).collect();
    let found = match check(text.as_bytes(), folder) {
        Ok(_) if errors.is_empty() => return Ok(true),
        Ok(_) => return Err(format!("check accepts, the schema says {errors:?}")),
        Err(found) => found,
    };
    let is_rule = |path: &str| path.contains("/allOf/");
    let plain = errors
        .iter()
        .any(|error| !is_rule(error.schema_path().as_str()));
    for error in &errors {
        let at = error.instance_path().as_str();
        // What stands on a file that cannot be read further is not told.
        if plain && is_rule(error.schema_path().as_str()) {
            continue;
        }
        let told = |defect: &&Defect| {
            is_of_shape(defect) && pointer(defect).is_some_and(|place| meet(place, at))
        };
        if !found.iter().any(|defect| told(&defect)) {
            return Err(format!(
                "the schema says at {at}: {error}; check says {found:?}"
            ));
        }
    }
    // What the schema refuses may have followers; where it refuses nothing, two values disagree.
    let of_shape = found.iter().filter(|defect| is_of_shape(defect));
    for defect in of_shape.filter(|_| errors.is_empty()) {
        let place = pointer(defect).unwrap_or_default();
        let relation = RELATED.iter().any(|part| place.contains(part));
        let fraction = defect.message.ends_with("write it as an integer");
        if !(defect.code == Code::Range && relation || defect.code == Code::Type && fraction) {
            return Err(format!("check says {defect:?}, the schema nothing"));
        }
    }
    Ok(false)
}

#[test]
fn whatever_is_written_the_schema_and_the_checker_agree() {
    let validator = validator();
    let folder = MemoryFolder::default();
    let config = Config {
        cases: 150,
        max_shrink_iters: 100,
        failure_persistence: None,
        ..Config::default()
    };
    let rng = proptest::test_runner::TestRng::deterministic_rng(
        proptest::test_runner::RngAlgorithm::ChaCha,
    );
    let mut runner = TestRunner::new_with_rng(config, rng);
    let accepted = RefCell::new(Vec::new());
    let slips = RefCell::new((0, 0));
    let outcome = runner.run(
        &(vec(any::<u16>(), 400), vec(any::<u16>(), 12)),
        |(stream, wrong)| {
            let sound = with_limitations(protocol(&mut Choices::of(stream)), &folder);
            match agree(&validator, &sound, &folder) {
                Ok(true) => accepted.borrow_mut().push(sound.clone()),
                Ok(false) => {
                    let found = check(written(&sound).text.as_bytes(), &folder)
                        .err()
                        .unwrap_or_default();
                    let why: Vec<_> = found.iter().map(|one| (one.code, &one.message)).collect();
                    return Err(proptest::test_runner::TestCaseError::fail(format!(
                        "not sound: {why:?}\n{sound}"
                    )));
                }
                Err(why) => {
                    return Err(proptest::test_runner::TestCaseError::fail(format!(
                        "{why}\n{sound}"
                    )));
                }
            }
            let mut choices = Choices::of(wrong);
            for _ in 0..3 {
                let slipped = slip(&sound, &mut choices);
                let is_sound = agree(&validator, &slipped, &folder);
                let is_sound = is_sound.map_err(|why| {
                    proptest::test_runner::TestCaseError::fail(format!("{why}\n{slipped}"))
                })?;
                let mut slips = slips.borrow_mut();
                *(if is_sound { &mut slips.0 } else { &mut slips.1 }) += 1;
            }
            Ok(())
        },
    );
    outcome.unwrap();
    let (sound, unsound) = *slips.borrow();
    assert!(sound > 20 && unsound > 150, "{sound}, {unsound}");
    assert_whole_language(&accepted.borrow());
}

/// Fails unless every key and every word of the language stood in one of some protocols.
fn assert_whole_language(protocols: &[Value]) {
    let mut seen = BTreeSet::new();
    for protocol in protocols {
        collect(protocol, "", &mut seen);
    }
    let mut absent = Vec::new();
    subschemas(&shape::schema(), "", &mut |at, schema| {
        let mut place = at.replace("/properties", "").replace("/items", "/*");
        if let Some(cut) = place.find("/oneOf") {
            place = format!(
                "{}{}",
                &place[..cut],
                place[cut..]
                    .split('/')
                    .skip(3)
                    .map(|part| format!("/{part}"))
                    .collect::<String>()
            );
        }
        let place = place.replace("/additionalProperties", "/*");
        if !seen.contains(&place) && !seen.iter().any(|one: &String| fits(one, &place)) {
            absent.push(place.clone());
        }
        for word in schema["enum"]
            .as_array()
            .into_iter()
            .flatten()
            .filter_map(Value::as_str)
        {
            let word = format!("{place} {word}");
            // The primary outcome of these protocols is binary, and so has zeros; their tasks are too few
            // to be resampled.
            let unfit = [
                "/analysis/primary/effect geometric_ratio",
                "/analysis/primary/interval bootstrap_percentile",
                "/analysis/primary/interval bootstrap_bca",
            ];
            if unfit.contains(&word.as_str()) {
                continue;
            }
            if !seen.iter().any(|one| fits(one, &word)) {
                absent.push(word);
            }
        }
    });
    assert!(
        absent.is_empty(),
        "no protocol of {} has {absent:#?}",
        protocols.len()
    );
}

/// Returns whether a place is one that a pattern with `*` for any name means.
fn fits(place: &str, pattern: &str) -> bool {
    let (mut place, mut pattern) = (place.split('/'), pattern.split('/'));
    loop {
        match (place.next(), pattern.next()) {
            (None, None) => return true,
            (Some(a), Some(b)) if a == b || b == "*" || a == "*" && !b.is_empty() => {}
            (Some(a), Some(b))
                if b.starts_with("* ")
                    && a.split_once(' ').map(|(_, word)| word) == b.strip_prefix("* ") => {}
            _ => return false,
        }
    }
}

/// Notes every place of a value, with `*` for the places of a list, and the words that stand there.
fn collect(value: &Value, at: &str, seen: &mut BTreeSet<String>) {
    seen.insert(at.to_owned());
    match value {
        Value::Object(table) => {
            for (key, item) in table {
                collect(item, &format!("{at}/{}", key.replace('/', "~1")), seen);
            }
        }
        Value::Array(items) => {
            for item in items {
                collect(item, &format!("{at}/*"), seen);
            }
        }
        Value::String(word) => {
            seen.insert(format!("{at} {word}"));
        }
        _ => {}
    }
}
