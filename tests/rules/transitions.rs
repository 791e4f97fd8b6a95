//! Transitions that are guarded by what their writer saw, and commit together with their records.

use std::collections::BTreeMap;
use std::sync::{LazyLock, Mutex};

use prereg::engine::command::Action;
use prereg::protocol::check::Checked;
use prereg::record::entry::read_body;
use prereg::record::version;
use prereg::store::{Fault, Request, Store, Writer};
use prereg::units::Time;
use serde_json::{Map, Value, json};

use super::shipped::with;

/// A row as it was read; none where there was none.
type Seen = Option<Value>;

/// Rows that are kept in a record of the product: one entry a change, and one a record beside it.
struct Rows {
    store: Store,
    _folder: tempfile::TempDir,
    /// How many entries were read, and what they said: the rows, and the records beside them.
    entries_read: usize,
    rows: BTreeMap<String, Value>,
    records: Vec<Value>,
    /// The numbers of the guarded values; what was seen before has the number that it had.
    versions: BTreeMap<String, u64>,
}

/// The record of the last case: to make one takes longer than to write to it.
static KEPT: Mutex<Option<Rows>> = Mutex::new(None);
/// How many entries a record may have when a case begins.
const ENTRIES_MAX: usize = 150;

/// Why a transition did not happen.
enum Not {
    Changed,
    Failed,
}

impl From<Fault> for Not {
    fn from(_: Fault) -> Self {
        Self::Failed
    }
}

impl Rows {
    /// Begins a case, in the record of the case before unless that has grown long.
    fn of(listed: &[Value]) -> Self {
        let known = KEPT.lock().unwrap().take();
        let known = known.filter(|rows| rows.entries_read < ENTRIES_MAX);
        let mut rows = known.unwrap_or_else(Self::new);
        rows.rows.clear();
        rows.records.clear();
        for row in listed {
            rows.put(row["id"].as_str().unwrap(), row).ok().unwrap();
        }
        rows
    }

    fn new() -> Self {
        static CHECKED: LazyLock<Checked> =
            LazyLock::new(|| with("matrix-attempts.toml", &["fixture"], |_| {}));
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("rows.prereg.db");
        let mut store = Store::create(&path, || Time(0)).unwrap();
        // What is written need not outlive the test.
        let _ = store.begin_session(usize::MAX).unwrap();
        let open = Action::Open {
            text: String::new(),
            registration: Box::new(CHECKED.registration.clone()),
            tasks: CHECKED
                .tasks
                .iter()
                .map(|task| task.fields.clone())
                .collect(),
        };
        let mut rows = Self {
            store,
            _folder: folder,
            entries_read: 0,
            rows: BTreeMap::new(),
            records: Vec::new(),
            versions: BTreeMap::new(),
        };
        rows.write(|writer| apply(writer, open)).ok().unwrap();
        rows
    }

    fn write(
        &mut self,
        work: impl FnOnce(&mut Writer<'_>) -> Result<(), Fault>,
    ) -> Result<(), Not> {
        Ok(self.store.write(work)?)
    }

    /// Writes as another writer does: without a guard.
    fn put(&mut self, id: &str, set: &Value) -> Result<(), Not> {
        self.write(|writer| apply(writer, note("set", id, set)))
    }

    /// Reads on in the record, from where it was read last.
    fn read(&mut self) {
        let mut text = Vec::new();
        self.store.export(&mut text, false).unwrap();
        let lines = String::from_utf8(text).unwrap();
        for line in lines.lines().skip(1 + self.entries_read) {
            self.entries_read += 1;
            let line: Value = serde_json::from_str(line).unwrap();
            let body = read_body(&line["body"].to_string()).unwrap();
            let Action::Deviate { note, .. } = body.command.action else {
                continue;
            };
            self.fold(&serde_json::from_str(&note).unwrap());
        }
    }

    fn fold(&mut self, note: &Value) {
        let id = note["row"].as_str().unwrap();
        match note["what"].as_str().unwrap() {
            "set" => {
                let row = self.rows.entry(id.to_owned()).or_insert_with(|| json!({}));
                let set = note["value"].as_object().unwrap().clone();
                row.as_object_mut().unwrap().extend(set);
            }
            "delete" => drop(self.rows.remove(id)),
            _ => self.records.push(json!([id, note["value"]])),
        }
    }

    fn row(&mut self, id: &str) -> Seen {
        self.read();
        self.rows.get(id).cloned()
    }

    /// The version of a row: one number for each set of guarded values; a row that is gone has none.
    fn version(&mut self, row: Option<&Value>) -> u64 {
        let Some(row) = row else { return 0 };
        let guarded = ["id", "status", "claimed_by", "updated_at"].map(|name| &row[name]);
        let next = self.versions.len() as u64 + 1;
        let version = self.versions.entry(json!(guarded).to_string());
        *version.or_insert(next)
    }

    /// Changes a row, unless it is another than was seen, together with its records.
    fn transition(
        &mut self,
        seen: &Value,
        set: &Value,
        records: &[&str],
        fails: bool,
    ) -> Result<(), Not> {
        let id = seen["id"].as_str().unwrap().to_owned();
        let now = self.row(&id);
        let (seen, stands) = (self.version(Some(seen)), self.version(now.as_ref()));
        version::guard(seen, stands).map_err(|_| Not::Changed)?;
        self.write(|writer| {
            apply(writer, note("set", &id, set))?;
            if fails {
                return Err(Fault::Random(std::io::Error::other("the record fails")));
            }
            let mut records = records.iter();
            records.try_for_each(|kind| apply(writer, note("record", &id, &json!(kind))))
        })
    }
}

fn apply(writer: &mut Writer<'_>, action: Action) -> Result<(), Fault> {
    let response = writer.apply(Request {
        actor: "writer".to_owned(),
        key: None,
        expects: None,
        action,
    })?;
    response.ruling.unwrap();
    Ok(())
}

fn note(what: &str, row: &str, value: &Value) -> Action {
    let note = json!({ "what": what, "row": row, "value": value }).to_string();
    Action::Deviate { note, arm: None }
}

/// Some fields of a row.
fn part(row: &Value, fields: &[&str]) -> Value {
    let fields = fields.iter();
    let named = fields.map(|name| ((*name).to_owned(), row[*name].clone()));
    Value::Object(named.collect::<Map<_, _>>())
}

pub(super) fn guarded_transition(case: &Value) -> Value {
    let listed = case["rows"].as_array().unwrap();
    let mut rows = Rows::of(listed);
    let mut seen: BTreeMap<String, Seen> = BTreeMap::new();
    let ops = case["ops"].as_array().unwrap();
    let answers: Vec<Value> = ops
        .iter()
        .map(|op| play(op, &mut rows, &mut seen))
        .collect();
    rows.read();
    let ids = listed.iter().map(|row| row["id"].as_str().unwrap());
    let shown = [
        "id",
        "claimed_by",
        "corrections_count",
        "note",
        "status",
        "updated_at",
    ];
    let left: Vec<Value> = ids
        .filter_map(|id| rows.rows.get(id))
        .map(|row| part(row, &shown))
        .collect();
    let answer = json!({ "answers": answers, "rows": left, "records": rows.records });
    *KEPT.lock().unwrap() = Some(rows);
    answer
}

fn play(op: &Value, rows: &mut Rows, seen: &mut BTreeMap<String, Seen>) -> Value {
    let text = |name: &str| op[name].as_str().unwrap();
    let using = || seen[text("using")].clone().unwrap();
    match text("op") {
        "read" => {
            let row = rows.row(text("id"));
            let answer = if row.is_some() { "read" } else { "absent" };
            seen.insert(text("as").to_owned(), row);
            json!(answer)
        }
        "write" => {
            // What is gone stays gone.
            if rows.row(text("id")).is_some() {
                rows.put(text("id"), &op["set"]).ok().unwrap();
            }
            json!("written")
        }
        "delete" => {
            let delete = note("delete", text("id"), &Value::Null);
            rows.write(|writer| apply(writer, delete)).ok().unwrap();
            json!("deleted")
        }
        "transition" => {
            let fails = op["record_fails"] == true;
            match rows.transition(&using(), &op["set"], &["transition"], fails) {
                Ok(()) => json!("committed"),
                Err(Not::Changed) => json!("changed_since_read"),
                Err(Not::Failed) => json!("error"),
            }
        }
        "mark_failed" => {
            let (seen, set) = (
                using(),
                json!({ "status": "failed", "updated_at": op["at"] }),
            );
            if rows
                .transition(&seen, &set, &["mirror", "audit"], false)
                .is_ok()
            {
                return json!({ "failed": true });
            }
            let current = rows.row(seen["id"].as_str().unwrap());
            let current = current.map(|row| part(&row, &["status", "claimed_by"]));
            json!({ "failed": false, "current": current })
        }
        other => panic!("{other}"),
    }
}
