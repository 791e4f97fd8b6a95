//! The verb `rehearse`: what the engine answers to a history that never happened, one line each.

use std::io::{self, BufWriter, Write};
use std::path::Path;

use serde_json::{Map, Value, json};

use super::args::Rehearse;
use super::input;
use super::reply::{self, Defects, Failure, Reply};
use super::study::{ProtocolFile, folder_of};
use crate::engine::refusal::Refusal;
use crate::engine::rehearsal::Rehearsal;
use crate::engine::rehearsal::history::{self, BYTES_MAX};
use crate::engine::rehearsal::op::Timed;
use crate::engine::rules::Rules;
use crate::protocol::defect::Defect;
use crate::protocol::source::Source;

/// Plays a history; nothing of it is recorded, so what this version cannot enforce is no obstacle.
pub(super) fn rehearse(args: &Rehearse) -> Result<Reply, Failure> {
    let loaded = ProtocolFile::read(&args.file)?;
    let history = read(&args.ops)?;
    let mut checked = loaded.checked;
    // Nothing is executed, so there is nothing to measure.
    checked.registration.protocol.evidence.clear();
    let rules = Rules::new(checked.registration, checked.tasks).map_err(|message| {
        let code = "protocol";
        Failure::Fault { code, message }
    })?;
    let source = Source::read(&loaded.text).ok();
    let beside = |refusal: &Refusal| beside(refusal, source.as_ref(), &loaded.text);
    let out = BufWriter::with_capacity(1 << 16, io::stdout().lock());
    reply::streamed(play(&rules, &history, beside, args.last, out))
}

fn play(
    rules: &Rules,
    history: &[Timed],
    beside: impl Fn(&Refusal) -> Map<String, Value>,
    last: bool,
    mut out: impl Write,
) -> io::Result<()> {
    let mut rehearsal = Rehearsal::new(rules);
    for timed in history {
        writeln!(out, "{}", rehearsal.play(timed).json(&beside))?;
    }
    if last {
        writeln!(out, "{}", rehearsal.end())?;
    }
    out.flush()
}

/// Returns what a refusal tells people and programs beside the known form of its answer.
fn beside(refusal: &Refusal, source: Option<&Source<'_>>, text: &str) -> Map<String, Value> {
    let mut retry = Map::from_iter([("class".to_owned(), json!(refusal.retry()))]);
    retry.extend(
        refusal
            .until()
            .map(|at| ("at".to_owned(), json!(at.to_string()))),
    );
    let mut fields = Map::from_iter([
        ("code".to_owned(), json!(refusal.code())),
        ("retry".to_owned(), Value::Object(retry)),
        ("says".to_owned(), json!(refusal.to_string())),
    ]);
    let rule = refusal.rule();
    let line = source
        .zip(rule)
        .and_then(|(source, rule)| reply::line_of_rule(source, text, &rule));
    fields.extend(line.map(|line| ("registered_at".to_owned(), json!(line))));
    fields
}

/// Reads a history; every defect of it is drawn in its own text.
fn read(ops: &Path) -> Result<Vec<Timed>, Failure> {
    let bytes = input::bytes(ops, BYTES_MAX).map_err(|slip| defective(ops, &[], vec![slip]))?;
    history::read(&bytes).map_err(|defects| defective(ops, &bytes, defects))
}

fn defective(ops: &Path, bytes: &[u8], defects: Vec<Defect>) -> Failure {
    let file = match input::is_standard_input(ops) {
        true => "standard input".to_owned(),
        false => ops.display().to_string(),
    };
    Failure::Defects(Defects {
        file,
        text: drawable(bytes),
        folder: folder_of(ops),
        defects,
        undone: "played",
    })
}

/// Returns a text in which every byte stands where it was, so that places stay true.
fn drawable(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len());
    for chunk in bytes.utf8_chunks() {
        text.push_str(chunk.valid());
        text.extend(chunk.invalid().iter().map(|_| '?'));
    }
    text
}
