//! The frame: one task a line, and the draw from it.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use serde_json::{Map, Value};

use super::canonical::{self, JsonFault};
use super::classes::Classes;
use super::draft::{DrawMethod, FieldKind, SplitKind};
use super::model::{Draw, Protocol};
use super::source::is_hidden;
use crate::units::Digest;

/// The largest frame file that is read, in bytes.
pub const FRAME_MAX: usize = 256 * 1024 * 1024;

/// One task: its id and whatever else its line says.
#[derive(Clone, Debug, PartialEq)]
pub struct Task {
    /// Names the task.
    pub id: String,
    /// The whole object, `id` included.
    pub fields: Value,
}

impl Task {
    /// Takes an object that has an id.
    pub fn new(fields: Value) -> Result<Self, String> {
        let id = match fields.get("id") {
            Some(Value::String(id)) => id.clone(),
            Some(_) => return Err("the task's `id` is not a text in double quotes".to_owned()),
            None if fields.is_object() => {
                return Err("the task has no `id`; give it one".to_owned());
            }
            None => {
                return Err("this is not a task: a task is one JSON object with an `id`".to_owned());
            }
        };
        if let Some(slip) = id_slip(&id) {
            return Err(slip);
        }
        Ok(Self { id, fields })
    }

    /// Returns the text that fills a hole of a template, if a task fills it: `task.<field>`.
    pub fn fill(&self, hole: &str) -> Option<String> {
        match self.fields.get(hole.strip_prefix("task.")?)? {
            Value::String(text) => Some(text.clone()),
            Value::Number(number) => Some(number.to_string()),
            Value::Bool(flag) => Some(flag.to_string()),
            _ => None,
        }
    }

    /// Returns a field's text, if the field is a text.
    pub fn text(&self, field: &str) -> Option<&str> {
        self.fields.get(field).and_then(Value::as_str)
    }
}

/// Returns what is wrong with a task's id, which also names files.
fn id_slip(id: &str) -> Option<String> {
    let allowed = |c: char| c.is_ascii_alphanumeric() || "._-:@+".contains(c);
    if id.is_empty() {
        Some("the task's `id` is empty; give it one".to_owned())
    } else if id.len() > 128 {
        Some(format!(
            "the task's `id` has {} characters; it names files and may have at most 128",
            id.chars().count()
        ))
    } else if let Some(other) = id.chars().find(|c| !allowed(*c)) {
        let shown = id.escape_debug();
        Some(format!(
            "the task id `{shown}` holds `{}` (U+{:04X}); use letters a to z, digits and `. _ - : @ +`",
            other.escape_debug(),
            u32::from(other)
        ))
    } else if !id.starts_with(|c: char| c.is_ascii_alphanumeric()) || id.contains("..") {
        Some(format!(
            "the task id `{id}` must begin with a letter or digit and hold no `..`"
        ))
    } else {
        None
    }
}

/// What is wrong with a line of the frame.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FrameFault {
    /// The line, from 1.
    pub line: usize,
    /// The byte in the file.
    pub offset: usize,
    /// One plain sentence.
    pub message: String,
}

/// Reads a frame file: every task, or what is wrong with each line.
pub fn read(bytes: &[u8]) -> Result<Vec<Task>, Vec<FrameFault>> {
    let mut tasks = Vec::new();
    let mut faults = Vec::new();
    let mut seen: HashMap<String, (usize, String)> = HashMap::new();
    for (index, (offset, text)) in canonical::lines(bytes).enumerate() {
        let line = index + 1;
        let mut refuse = |at: usize, message: String| {
            faults.push(FrameFault {
                line,
                offset: offset + at,
                message,
            })
        };
        match read_line(text) {
            Err(fault) => refuse(fault.offset, fault.message),
            Ok(task) => match seen.insert(task.id.to_lowercase(), (line, task.id.clone())) {
                Some((first, same)) if same == task.id => {
                    refuse(
                        0,
                        format!(
                            "the task `{same}` stands on line {first} too; rename or remove one"
                        ),
                    );
                }
                Some((first, other)) => {
                    let message = format!(
                        "the task ids `{}` and `{other}` (line {first}) differ in case alone; they would share files",
                        task.id
                    );
                    refuse(0, message);
                }
                None => tasks.push(task),
            },
        }
    }
    if faults.is_empty() && tasks.is_empty() {
        faults.push(FrameFault {
            line: 1,
            offset: 0,
            message: "the frame has no tasks; write one JSON object a line".to_owned(),
        });
    }
    if faults.is_empty() {
        Ok(tasks)
    } else {
        Err(faults)
    }
}

fn read_line(text: &[u8]) -> Result<Task, JsonFault> {
    if text.iter().all(u8::is_ascii_whitespace) {
        return Err(JsonFault {
            offset: 0,
            message: "the line is empty; remove it: a frame has one task a line".to_owned(),
        });
    }
    let value = canonical::read(text)?;
    if let Some(found) = hidden_text(&value) {
        return Err(JsonFault {
            offset: 0,
            message: format!(
                "the text {found:?} holds a character that a reader cannot see; remove it"
            ),
        });
    }
    Task::new(value).map_err(|message| JsonFault { offset: 0, message })
}

fn hidden_text(value: &Value) -> Option<&str> {
    match value {
        Value::String(text) => text
            .chars()
            .any(|c| is_hidden(c) && c != '\u{1b}')
            .then_some(text),
        Value::Array(items) => items.iter().find_map(hidden_text),
        Value::Object(object) => {
            let mut keys = object.keys().map(String::as_str);
            let key = keys.find(|key| key.chars().any(is_hidden));
            key.or_else(|| object.values().find_map(hidden_text))
        }
        _ => None,
    }
}

/// Digests the tasks: one canonical JSON object a line, in the frame's order.
pub fn digest(tasks: &[Task]) -> Digest {
    let mut lines = Vec::new();
    for task in tasks {
        lines.extend_from_slice(&canonical::bytes(&task.fields));
        lines.push(b'\n');
    }
    Digest::of(&[&lines])
}

/// Digests an open frame: its tasks are added later, and what is bound is what each of them must have.
pub fn open_digest(fields: &BTreeMap<String, FieldKind>) -> Digest {
    canonical::digest(&serde_json::json!(fields))
}

/// Returns the byte at which a line of the frame begins; a frame without faults has one task a line.
pub fn line_start(bytes: &[u8], index: usize) -> usize {
    let lines = bytes.split_inclusive(|byte| *byte == b'\n');
    lines.take(index).map(<[u8]>::len).sum()
}

/// Returns what a task's split is for; a task without a declared split is confirmatory.
pub fn split_of(splits: Option<&BTreeMap<String, SplitKind>>, task: &Task) -> Option<SplitKind> {
    match splits {
        None => Some(SplitKind::Confirmatory),
        Some(splits) => splits.get(task.text("split")?).copied(),
    }
}

/// The tasks of a study, by what they are for.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Drawn {
    /// Indexes into the frame of the drawn confirmatory tasks, in the draw's order.
    pub confirmatory: Vec<usize>,
    /// Indexes into the frame of the pilot tasks, in the frame's order.
    pub pilot: Vec<usize>,
}

/// Makes the draw.
///
/// Shuffled: ascending SHA-256 of `"prereg-draw/1\n" + seed + "\n" + id`. Ranked: by class
/// ([`Classes`]). Ties by id.
pub fn draw(protocol: &Protocol, tasks: &[Task]) -> Drawn {
    let of_kind = |kind: SplitKind| -> Vec<usize> {
        let splits = protocol.splits.as_ref();
        (0..tasks.len())
            .filter(|i| split_of(splits, &tasks[*i]) == Some(kind))
            .collect()
    };
    let mut confirmatory = of_kind(SplitKind::Confirmatory);
    order(&protocol.draw, tasks, &mut confirmatory);
    if let Some(size) = protocol.draw.size {
        confirmatory.truncate(usize::try_from(size).unwrap_or(usize::MAX));
    }
    Drawn {
        confirmatory,
        pilot: of_kind(SplitKind::Pilot),
    }
}

fn order(draw: &Draw, tasks: &[Task], indexes: &mut [usize]) {
    let id = |i: &usize| tasks[*i].id.as_str();
    match draw.method {
        DrawMethod::Listed => {}
        DrawMethod::Shuffled => {
            let seed = draw.seed.as_deref().unwrap_or_default().as_bytes();
            let key = |id: &str| Digest::of(&[b"prereg-draw/1\n", seed, b"\n", id.as_bytes()]);
            indexes.sort_by_cached_key(|i| (key(id(i)), id(i)));
        }
        DrawMethod::Ranked => {
            // The checker refused classes that cannot be read; none of them decides then.
            let classes = Classes::read(&draw.classes).unwrap_or_default();
            indexes.sort_by_cached_key(|i| (classes.rank(id(i)), id(i)));
        }
    }
}

/// Returns the names of the fields that some task has.
pub fn field_names(tasks: &[Task]) -> Vec<String> {
    let objects = tasks.iter().filter_map(|task| task.fields.as_object());
    let mut names = BTreeSet::new();
    for name in objects.flat_map(Map::keys) {
        // Collecting would sort the names of all tasks; few of them are new.
        names.insert(name.as_str());
    }
    names.into_iter().map(str::to_owned).collect()
}

/// Returns the names of the fields that hold a number with a fraction in some task.
pub fn fractional_fields(tasks: &[Task]) -> BTreeSet<String> {
    let fields = tasks
        .iter()
        .filter_map(|task| task.fields.as_object())
        .flatten();
    fields
        .filter(|(_, value)| value.is_f64())
        .map(|(name, _)| name.clone())
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_bad_line_is_named() {
        let frame = "{\"id\":\"a\"}\n[1]\n{\"id\":\"a\"}\n\n{\"id\":\"../x\"}\n{\"no\":1}\n{\"id\":\"b\",\"id\":\"c\"}";
        let faults = read(frame.as_bytes()).unwrap_err();
        let lines: Vec<usize> = faults.iter().map(|fault| fault.line).collect();
        assert_eq!(lines, [2, 3, 4, 5, 6, 7]);
    }

    #[test]
    fn the_digest_ignores_spacing_and_line_ends() {
        let a = read(b"{\"id\":\"a\",\"n\":1}\n").unwrap();
        let b = read(b"{ \"n\": 1, \"id\": \"a\" }\r\n").unwrap();
        assert_eq!(digest(&a), digest(&b));
    }
}
