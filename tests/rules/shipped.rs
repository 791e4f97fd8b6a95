//! A shipped protocol with other values in it, checked again.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::{Arc, Mutex};

use prereg::folder::DiskFolder;
use prereg::protocol::check::{self, Checked};
use prereg::protocol::defect::{Code, Defect, Place};
use prereg::protocol::folder::{Folder, FolderFault};
use prereg::units::Digest;
use toml::{Table, Value};

/// The folder of a shipped protocol, with other files in it.
struct WithFiles<'a> {
    below: DiskFolder,
    files: BTreeMap<String, &'a str>,
}

impl Folder for WithFiles<'_> {
    fn read(&self, path: &str, max: usize) -> Result<Vec<u8>, FolderFault> {
        match self.files.get(path) {
            None => self.below.read(path, max),
            Some(text) if text.len() > max => Err(FolderFault {
                code: Code::TooLarge,
                message: "too large".to_owned(),
            }),
            Some(text) => Ok(text.as_bytes().to_vec()),
        }
    }

    fn digest(&self, path: &str) -> Result<Digest, FolderFault> {
        self.below.digest(path)
    }

    fn executable(&self, path: &str) -> Result<bool, FolderFault> {
        self.below.executable(path)
    }
}

/// Checks a shipped protocol in which some values are replaced, with the tasks of a case.
///
/// Weaknesses that the new values bring or take away are named or left out, as an author would have to.
pub(crate) fn with(name: &str, tasks: &[&str], change: impl FnOnce(&mut Table)) -> Checked {
    with_files(name, tasks, &[], change)
}

/// Checks a shipped protocol as [`with`] does, with some files in its folder that are not shipped.
pub(crate) fn with_files(
    name: &str,
    tasks: &[&str],
    files: &[(&str, &str)],
    change: impl FnOnce(&mut Table),
) -> Checked {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("protocols");
    let text = std::fs::read_to_string(folder.join(name)).unwrap();
    let mut protocol: Table = toml::from_str(&text).unwrap();
    change(&mut protocol);
    let path = protocol["tasks"]["frame"].as_str().unwrap().to_owned();
    // A task of a case has the fields of the shipped ones, but for its id.
    let mut frame = String::new();
    if path != "open" {
        let shipped = std::fs::read_to_string(folder.join(&path)).unwrap();
        let mut task: serde_json::Value =
            serde_json::from_str(shipped.lines().next().unwrap()).unwrap();
        for id in tasks {
            task["id"] = serde_json::Value::from(*id);
            frame.push_str(&format!("{task}\n"));
        }
    }
    let others = files.iter().map(|(path, text)| ((*path).to_owned(), *text));
    let folder = WithFiles {
        below: DiskFolder::at(&folder),
        files: others.chain([(path, frame.as_str())]).collect(),
    };
    let check = |protocol: &Table| {
        let text = toml::to_string(protocol).unwrap();
        check::check(text.as_bytes(), &folder)
    };
    let mut checked = check(&protocol);
    // Weaknesses are looked for last: what is named wrongly shows before what is not named.
    for _ in 0..2 {
        if let Err(defects) = &checked {
            limit(&mut protocol, defects);
            checked = check(&protocol);
        }
    }
    checked.unwrap_or_else(|defects| panic!("{defects:#?}"))
}

/// Tasks enough for the shipped protocol in stages.
pub(crate) const TASKS: [&str; 6] = ["MB-1", "MB-2", "MB-3", "MB-4", "MB-5", "MB-6"];

/// Checks the shipped protocol in stages with other values at some paths, each set of them once.
pub(crate) fn staged(values: &[(&str, Value)]) -> Arc<Checked> {
    static CHECKED: Mutex<BTreeMap<String, Arc<Checked>>> = Mutex::new(BTreeMap::new());
    let mut checked = CHECKED.lock().unwrap();
    let check = || {
        with("block-stages.toml", &TASKS, |protocol| {
            for (path, value) in values {
                let (table, rest) = path.split_once('.').unwrap();
                let place = protocol.entry(table).or_insert(Value::Table(Table::new()));
                put(place, rest, value);
            }
        })
    };
    let checked = checked.entry(format!("{values:?}"));
    checked.or_insert_with(|| Arc::new(check())).clone()
}

/// Puts a value at a path such as `0.fits.margin`; a table that is not there is made.
fn put(place: &mut Value, path: &str, value: &Value) {
    let (key, rest) = path.split_once('.').unwrap_or((path, ""));
    let table = Value::Table(Table::new());
    let place = match place {
        Value::Array(items) => {
            let at: usize = key.parse().unwrap();
            if at == items.len() {
                items.push(table);
            }
            &mut items[at]
        }
        place => {
            let place = place.as_table_mut().unwrap();
            place.entry(key).or_insert(table)
        }
    };
    if rest.is_empty() {
        *place = value.clone();
    } else {
        put(place, rest, value);
    }
}

/// Returns a list of texts.
pub(crate) fn texts(list: &serde_json::Value) -> Vec<&str> {
    let list = list.as_array().unwrap();
    list.iter().map(|text| text.as_str().unwrap()).collect()
}

/// Names the weaknesses that were found, and leaves out the limitations that were not.
fn limit(protocol: &mut Table, defects: &[Defect]) {
    let limitations = table(protocol, "limitations");
    for defect in defects {
        match &defect.place {
            Place::Key(named) if defect.code == Code::LimitationNotFound => {
                limitations.remove(named.trim_start_matches("/limitations/"));
            }
            _ => {
                let reason = Value::from("a case of the known answers");
                limitations.insert(defect.code.text().to_owned(), reason);
            }
        }
    }
}

/// Returns a table of a protocol, which is made where there is none.
pub(crate) fn table<'t>(protocol: &'t mut Table, name: &str) -> &'t mut Table {
    let table = protocol.entry(name).or_insert(Value::Table(Table::new()));
    table.as_table_mut().unwrap()
}

/// Gives a protocol arms of these names: copies of its first, none different from it.
pub(crate) fn name_arms(protocol: &mut Table, names: &[&str]) {
    let first = protocol["arms"][0].clone();
    let named = |name: &&str| {
        let mut arm = first.clone();
        arm.as_table_mut()
            .unwrap()
            .insert("id".to_owned(), Value::from(*name));
        arm
    };
    let arms: Vec<Value> = names.iter().map(named).collect();
    protocol.insert("arms".to_owned(), Value::Array(arms));
    if protocol.contains_key("analysis") {
        let analysis = table(protocol, "analysis");
        analysis.insert("reference".to_owned(), Value::from(names[0]));
        let treatments: Vec<Value> = names[1..].iter().map(|name| Value::from(*name)).collect();
        analysis.insert("treatments".to_owned(), Value::Array(treatments));
    }
}
