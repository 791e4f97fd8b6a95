//! The manual of the protocol file, `docs/protocol.md`: prose around tables made from the language.
//!
//! What a key is called, what may stand there, its default, its meaning and an example come from
//! the JSON Schema, and so from the draft types; the order of keys is that of their declaration.
//! The prose is `manual.md`. A line `<!-- table: analysis.primary -->` in it stands for a table.

use std::fmt::{self, Write as _};

use serde::Deserialize;
use serde::de::{self, Deserializer, Visitor};
use serde_json::Value;

use super::check::is_weakness;
use super::defect::Code;
use super::draft;
use super::shape;

/// The prose.
const PROSE: &str = include_str!("manual.md");

/// The first line: whoever edits the page by hand would lose the edit.
const HEAD: &str = "<!-- Made from the language by a test, tests/manual.rs; edit src/protocol/manual.md instead. -->\n";

/// A table's name with dots, and what asks its type for the keys.
type Declared = (&'static str, fn() -> &'static [&'static str]);

/// The tables that have keys of the language.
const TABLES: &[Declared] = &[
    ("", keys_of::<draft::Draft>),
    ("study", keys_of::<draft::Study>),
    ("study.supersedes", keys_of::<draft::Supersedes>),
    ("tasks", keys_of::<draft::Tasks>),
    ("draw", keys_of::<draft::Draw>),
    ("arms", keys_of::<draft::Arm>),
    ("controls", keys_of::<draft::Control>),
    ("allocation", keys_of::<draft::Allocation>),
    ("stages", keys_of::<draft::Stage>),
    ("stages.fits", keys_of::<draft::Fits>),
    ("attempts", keys_of::<draft::Attempts>),
    ("outage", keys_of::<draft::Outage>),
    ("readings", keys_of::<draft::Reading>),
    ("stops", keys_of::<draft::Stop>),
    ("holds", keys_of::<draft::Hold>),
    ("backoff", keys_of::<draft::Backoff>),
    ("cutoff", keys_of::<draft::Cutoff>),
    ("budgets", keys_of::<draft::Budget>),
    ("breaker", keys_of::<draft::Breaker>),
    ("switch", keys_of::<draft::Switch>),
    ("execution", keys_of::<draft::Execution>),
    ("execution.workspace.git", keys_of::<draft::GitSource>),
    ("preflight", keys_of::<draft::Preflight>),
    ("probes", keys_of::<draft::Probe>),
    ("observation", keys_of::<draft::Observation>),
    ("claim", keys_of::<draft::Claim>),
    ("judge", keys_of::<draft::Judge>),
    ("checkpoint", keys_of::<draft::Checkpoint>),
    ("outcomes", keys_of::<draft::Outcome>),
    ("scoring", keys_of::<draft::Scoring>),
    ("artefacts", keys_of::<draft::Artefacts>),
    ("evidence", keys_of::<draft::Evidence>),
    ("actors", keys_of::<draft::Actors>),
    ("analysis", keys_of::<draft::Analysis>),
    ("analysis.primary", keys_of::<draft::Comparison>),
    ("analysis.secondary", keys_of::<draft::Secondary>),
    ("analysis.multiplicity", keys_of::<draft::Multiplicity>),
    ("analysis.looks", keys_of::<draft::Looks>),
    ("analysis.descriptive", keys_of::<draft::Descriptive>),
    (
        "analysis.descriptive.time_to_success",
        keys_of::<draft::TimeToSuccess>,
    ),
    (
        "analysis.descriptive.cost_effectiveness",
        keys_of::<draft::CostEffectiveness>,
    ),
];

/// Returns the manual in Markdown.
pub fn manual() -> String {
    let schema = shape::schema();
    let mut text = HEAD.to_owned();
    for line in PROSE.lines() {
        // A table ends with an empty line of its own.
        if line.is_empty() && text.ends_with("\n\n") {
            continue;
        }
        let asked = line
            .strip_prefix("<!-- ")
            .and_then(|line| line.strip_suffix(" -->"));
        match asked.map(|asked| asked.split_once(": ").unwrap_or((asked, ""))) {
            Some(("table", name)) => text.push_str(&table(&schema, name)),
            Some(("overview", _)) => text.push_str(&overview(&schema)),
            Some(("weaknesses", _)) => text.push_str(&codes(true)),
            Some(("defects", _)) => text.push_str(&codes(false)),
            _ => {
                text.push_str(line);
                text.push('\n');
            }
        }
    }
    text
}

/// Returns the section of a table: its header, its meaning and its keys.
fn table(schema: &Value, name: &str) -> String {
    let Some(node) = node(schema, name) else {
        return format!("There is no table `{name}`.\n");
    };
    let (list, table) = match node.get("items") {
        Some(items) => (true, items),
        None => (false, node),
    };
    let header = if list {
        format!("[[{name}]]")
    } else {
        format!("[{name}]")
    };
    let mut text = format!("### `{header}`\n\n{}\n\n", description(node));
    text.push_str(
        "| Key | Value | Default | Meaning | Example |\n| --- | --- | --- | --- | --- |\n",
    );
    let declared = TABLES.iter().find(|(known, _)| *known == name);
    let needed = |key: &str| {
        let needed = table.get("required").and_then(Value::as_array);
        needed.is_some_and(|needed| needed.iter().any(|one| one == key))
    };
    for key in declared.map_or(&[][..], |(_, keys)| keys()) {
        if let Some(node) = table.pointer(&format!("/properties/{key}")) {
            text.push_str(&row(&format!("`{key}`"), key, node, needed(key)));
        }
    }
    if let Some(node) = table
        .get("additionalProperties")
        .filter(|node| node.is_object())
    {
        let example = node_example(table).map(|example| format!("`{}`", inside(&example)));
        _ = writeln!(
            text,
            "| *each key* | {} | | {} | {} |",
            cell(&form(node)),
            cell(&description(node)),
            cell(&example.unwrap_or_default())
        );
    }
    text.push('\n');
    text
}

/// Returns the list of the file's own keys and tables.
fn overview(schema: &Value) -> String {
    let mut text = "| Table | | Meaning |\n| --- | --- | --- |\n".to_owned();
    for key in keys_of::<draft::Draft>() {
        let Some(node) = schema.pointer(&format!("/properties/{key}")) else {
            continue;
        };
        let needed = schema.get("required").and_then(Value::as_array);
        let needed = needed.is_some_and(|needed| needed.iter().any(|one| one == key));
        let name = match (node.get("items"), node.get("type")) {
            (Some(_), _) => format!("[`[[{key}]]`](#{key})"),
            (None, Some(kind)) if kind == "object" => format!("[`[{key}]`](#{key})"),
            _ => format!("`{key}`"),
        };
        let needed = if needed { "required" } else { "" };
        _ = writeln!(text, "| {name} | {needed} | {} |", cell(&description(node)));
    }
    text
}

/// Returns the codes of weaknesses, or of all other defects, with their meanings.
fn codes(weaknesses: bool) -> String {
    let mut text = "| Code | Meaning |\n| --- | --- |\n".to_owned();
    let asked = Code::ALL
        .iter()
        .filter(|code| is_weakness(**code) == weaknesses);
    for code in asked {
        _ = writeln!(text, "| `{}` | {} |", code.text(), cell(code.description()));
    }
    text
}

/// Returns the line of one key.
fn row(shown: &str, key: &str, node: &Value, needed: bool) -> String {
    let default = match node.get("default") {
        Some(default) => format!("`{}`", toml(default)),
        None if needed => "required".to_owned(),
        None => String::new(),
    };
    let example = node_example(node).map(|example| format!("`{key} = {}`", toml(&example)));
    format!(
        "| {shown} | {} | {} | {} | {} |\n",
        cell(&form(node)),
        cell(&default),
        cell(&description(node)),
        cell(&example.unwrap_or_default())
    )
}

fn description(node: &Value) -> String {
    let text = node.get("description").and_then(Value::as_str);
    text.unwrap_or_default().to_owned()
}

/// Returns an example of a value: one that is given, the default, or one of what may stand there.
fn node_example(node: &Value) -> Option<Value> {
    let first = |key: &str| node.get(key)?.get(0).cloned();
    let is_empty = |value: &Value| *value == Value::Array(Vec::new());
    let default = || {
        node.get("default")
            .filter(|value| !is_empty(value))
            .cloned()
    };
    if let Some(example) = first("examples").or_else(default).or_else(|| first("enum")) {
        return Some(example);
    }
    if let Some(item) = node.pointer("/items/enum/0") {
        return Some(Value::Array(vec![item.clone()]));
    }
    let flag = node.get("type").is_some_and(|kind| kind == "boolean");
    flag.then_some(Value::Bool(true))
}

/// Says in a few words what may stand at a place.
fn form(node: &Value) -> String {
    let words = node.get("enum").and_then(Value::as_array);
    if let Some(title) = node.get("title").and_then(Value::as_str) {
        return short(title);
    }
    if let Some(words) = words {
        let words: Vec<String> = words
            .iter()
            .map(|word| format!("`{}`", toml(word)))
            .collect();
        return words.join(", ");
    }
    let number = |key: &str| node.get(key).map(Value::to_string);
    let range = match (number("minimum"), number("maximum")) {
        (Some(least), Some(most)) if least == most => return format!("`{least}`"),
        (Some(least), Some(most)) => format!(", {least} to {most}"),
        (Some(least), None) => format!(", {least} or more"),
        _ => {
            number("exclusiveMinimum").map_or(String::new(), |least| format!(", more than {least}"))
        }
    };
    match node.get("type").and_then(Value::as_str) {
        Some("boolean") => "`true`, `false`".to_owned(),
        Some("string") => "text".to_owned(),
        Some("array") => match node.get("items") {
            Some(items) if items.get("properties").is_some() => "tables".to_owned(),
            Some(items) => format!("list of: {}", form(items)),
            None => "list".to_owned(),
        },
        Some("object") => match node
            .get("additionalProperties")
            .filter(|more| more.is_object())
        {
            Some(more) => format!("table: name = {}", form(more)),
            None => "table".to_owned(),
        },
        Some(kind) => format!("{kind}{range}"),
        None => "any value".to_owned(),
    }
}

/// Shortens a title to what the section on literals explains.
fn short(title: &str) -> String {
    let long = [
        " in ms, ",
        " in B, ",
        " of at most ",
        " with `",
        " in UTC",
        ", one text each",
    ];
    let end = long.iter().filter_map(|cut| title.find(cut)).min();
    let title = &title[..end.unwrap_or(title.len())];
    let articles = ["a ", "an ", "the "];
    let mut bare = articles
        .iter()
        .filter_map(|article| title.strip_prefix(article));
    bare.next().unwrap_or(title).to_owned()
}

/// Returns the part of the schema that a name with dots means.
fn node<'s>(schema: &'s Value, name: &str) -> Option<&'s Value> {
    let mut node = schema;
    for key in name.split('.') {
        let table = node.get("items").unwrap_or(node);
        let forms = table.get("oneOf").and_then(Value::as_array);
        let mut forms = forms.into_iter().flatten().chain([table]);
        node = forms.find_map(|form| form.get("properties")?.get(key))?;
    }
    Some(node)
}

/// Writes a value as it stands in a protocol.
fn toml(value: &Value) -> String {
    match value {
        Value::Array(items) => {
            let items: Vec<String> = items.iter().map(toml).collect();
            format!("[{}]", items.join(", "))
        }
        Value::Object(table) if table.is_empty() => "{}".to_owned(),
        Value::Object(_) => format!("{{ {} }}", inside(value)),
        Value::String(text) if text.contains('"') && !text.contains('\'') => format!("'{text}'"),
        plain => plain.to_string(),
    }
}

/// Writes the pairs of a table in a line.
fn inside(value: &Value) -> String {
    let bare = |key: &str| {
        key.chars()
            .all(|c| c.is_ascii_alphanumeric() || c == '_' || c == '-')
    };
    let name = |key: &str| match bare(key) {
        true => key.to_owned(),
        false => Value::from(key).to_string(),
    };
    let pairs = value.as_object().into_iter().flatten();
    let pairs: Vec<String> = pairs
        .map(|(key, item)| format!("{} = {}", name(key), toml(item)))
        .collect();
    pairs.join(", ")
}

/// Makes a text one cell of a table.
fn cell(text: &str) -> String {
    text.replace('|', "\\|")
}

/// Asks a type for its keys; the answer comes as the error, since there is nothing to read.
struct Asker;

/// The keys of a type, in the order of their declaration.
#[derive(Debug)]
struct Keys(&'static [&'static str]);

impl fmt::Display for Keys {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.join(", "))
    }
}

impl std::error::Error for Keys {}

impl de::Error for Keys {
    fn custom<T: fmt::Display>(_: T) -> Self {
        Self(&[])
    }
}

impl<'de> Deserializer<'de> for Asker {
    type Error = Keys;

    fn deserialize_any<V: Visitor<'de>>(self, _: V) -> Result<V::Value, Keys> {
        Err(Keys(&[]))
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        keys: &'static [&'static str],
        _: V,
    ) -> Result<V::Value, Keys> {
        Err(Keys(keys))
    }

    serde::forward_to_deserialize_any! {
        bool i8 i16 i32 i64 u8 u16 u32 u64 f32 f64 char str string bytes byte_buf option unit
        unit_struct newtype_struct seq tuple tuple_struct map enum identifier ignored_any
    }
}

fn keys_of<T: Deserialize<'static>>() -> &'static [&'static str] {
    match T::deserialize(Asker) {
        Err(Keys(keys)) => keys,
        Ok(_) => &[],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tables(schema: &Value, name: &str, found: &mut Vec<(String, Vec<String>)>) {
        let table = schema.get("items").unwrap_or(schema);
        let forms = table.get("oneOf").and_then(Value::as_array);
        for form in forms.into_iter().flatten() {
            if let Some(git) = form.pointer("/properties/git") {
                tables(git, &format!("{name}.git"), found);
            }
        }
        let Some(keys) = table.get("properties").and_then(Value::as_object) else {
            return;
        };
        found.push((name.to_owned(), keys.keys().cloned().collect()));
        for (key, node) in keys {
            let dot = if name.is_empty() { "" } else { "." };
            tables(node, &format!("{name}{dot}{key}"), found);
        }
    }

    #[test]
    fn every_table_and_every_key_is_in_the_manual() {
        let mut found = Vec::new();
        tables(&shape::schema(), "", &mut found);
        for (name, mut keys) in found {
            // An arm's workspace is the one of `[execution]`.
            if name == "arms.workspace.git" {
                continue;
            }
            let declared = TABLES.iter().find(|(known, _)| *known == name);
            let mut declared =
                declared.unwrap_or_else(|| panic!("{name} is not listed")).1().to_vec();
            declared.sort_unstable();
            keys.sort_unstable();
            assert_eq!(declared, keys, "{name}");
            let marker = format!("<!-- table: {name} -->");
            assert!(
                name.is_empty() || PROSE.contains(&marker),
                "{marker} is not in the prose"
            );
        }
        assert!(!manual().contains("There is no table"));
    }
}
