//! An export: its header, its lines, and what later ones say of earlier ones.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::ops::Range;
use std::path::Path;

use super::{Auditor, EachRun, End, HELD, compare_backward, see, show};
use crate::record::anchor::expected::{Backward, Expected};
use crate::record::audit::Audit;
use crate::record::divergence::{Code, Divergence};
use crate::record::entry::{Entry, EntryText, GENESIS};
use crate::record::export::{self, Header, HeaderFault};
use crate::record::reading::{self, Reading};
use crate::store::Fault;
use crate::store::abreast::{self, Closed, In};
use crate::store::spill::Spill;
use crate::units::Digest;

/// How many bytes of lines are worked on at once, about.
const CHUNK: u64 = 1 << 17;
/// How many bytes are set aside for that: nearly always enough for the last of the lines, too.
const CHUNK_ROOM: usize = (1 << 17) + (1 << 13);
/// How many bytes a line has at most: more than any frame can make of the one that opens it.
const LINE_MAX: u64 = 1 << 30;
/// How many bytes a line has at least, nearly always.
const LINE: usize = 300;

/// Lines that stand together.
struct Chunk {
    /// The line before them; none before the first entry.
    before: Option<Vec<u8>>,
    lines: Vec<u8>,
}

/// A line that was read.
struct Line {
    reading: Reading,
    /// Where its body stands in the text of the chunk.
    body: Range<usize>,
    is_opened: bool,
    /// What it says, where that is asked for.
    entry: Option<Entry>,
}

/// Lines that were read.
struct ReadChunk {
    text: String,
    lines: Vec<Result<Line, Wrong>>,
}

/// What is wrong with a line.
enum Wrong {
    /// It is no text, or is cut off.
    Text(&'static str),
    /// It is not spelled as entries are.
    Spelling(String),
}

/// Verifies an export.
pub(super) fn checked(
    path: &Path,
    expected: &mut Expected,
    each_run: Option<EachRun<'_>>,
) -> Result<Audit, End> {
    audited(path, expected, |_| Ok(()), None, each_run)
}

/// Verifies an export; hands its header on, and every entry once it is checked.
pub(in crate::store) fn exported(
    path: &Path,
    expected: &mut Expected,
    begin: impl FnOnce(&Header) -> Result<(), Fault>,
    mut each: impl FnMut(&Entry) -> Result<(), Fault>,
) -> Result<Audit, End> {
    audited(path, expected, begin, Some(&mut each), None)
}

/// What is done with every entry once it is checked.
type Each<'e> = &'e mut dyn FnMut(&Entry) -> Result<(), Fault>;

fn audited(
    path: &Path,
    expected: &mut Expected,
    begin: impl FnOnce(&Header) -> Result<(), Fault>,
    mut each: Option<Each<'_>>,
    each_run: Option<EachRun<'_>>,
) -> Result<Audit, End> {
    let mut lines = Lines::of(path)?;
    let header = header(path, &mut lines)?;
    begin(&header)?;
    let (whole, is_kept) = (!header.sealed, each.is_some());
    let mut auditor = Auditor::new(Spill::default(), HELD);
    abreast::in_order(
        move |gate| lines.hand_all(gate),
        |chunk: Result<Chunk, Fault>| chunk.map(|chunk| read_lines(chunk, whole, is_kept)),
        |read| {
            let mut chunk = read?;
            for line in &mut chunk.lines {
                let place = auditor.head().seq + 1;
                let line = line.as_mut().map_err(|wrong| wrong.at(place))?;
                let body = &chunk.text[line.body.clone()];
                let filed = auditor.follow(&mut line.reading, body)?;
                see(expected, &auditor, &filed)?;
                if header.sealed && line.is_opened {
                    let message = "the header says that openings are left out, and one stands here";
                    return Err(broken(Code::LineSyntax, place, message));
                }
                if let (Some(each), Some(entry)) = (&mut each, &line.entry) {
                    each(entry)?;
                }
            }
            Ok::<_, End>(Ok(chunk))
        },
    )?;
    show(&mut auditor, expected, each_run)?;
    let audit = auditor.finish()?;
    compare_header(&header, &audit)?;
    look_back(path, expected.backward())?;
    expected.end(audit.head)?;
    Ok(audit)
}

fn broken(code: Code, entry: u64, message: impl Into<String>) -> End {
    End::Diverged(Divergence::new(code, entry, message))
}

impl Wrong {
    fn at(&self, place: u64) -> End {
        match self {
            Self::Text(message) => broken(Code::LineSyntax, 0, *message),
            Self::Spelling(message) => broken(Code::LineSyntax, place, message.as_str()),
        }
    }
}

/// Reads the first line.
fn header(path: &Path, lines: &mut Lines<'_>) -> Result<Header, End> {
    let Some(line) = lines.next()? else {
        return Err(broken(Code::NotARecord, 0, "the file is empty"));
    };
    Header::read(line).map_err(|fault| match fault {
        HeaderFault::Broken(message) => broken(Code::NotARecord, 0, message),
        HeaderFault::Newer(version) => End::Fault(Fault::Newer {
            path: path.to_owned(),
            found: i64::from(version),
            known: i64::from(export::VERSION),
        }),
    })
}

/// Compares the header with the entries that followed it.
fn compare_header(header: &Header, audit: &Audit) -> Result<(), End> {
    if (audit.head.seq, audit.head.digest) != (header.entries, header.head) {
        let message = format!(
            "the header counts {} entries, and {} stand here",
            header.entries, audit.head.seq
        );
        return Err(broken(Code::HeadDiffers, 0, message));
    }
    let rules = audit.rules.as_ref();
    let study = rules.map(|rules| rules.protocol().study.id.as_str());
    if study != Some(header.study.as_str()) {
        let message = "the header names another study";
        return Err(broken(Code::HeadDiffers, 0, message));
    }
    Ok(())
}

/// Reads lines as far as that needs no other ones; ends with the first that is wrong.
fn read_lines(chunk: Chunk, whole: bool, is_kept: bool) -> ReadChunk {
    let before = chunk.before.as_deref().map(|line| parts(text(line)?));
    // Of what cannot be read nobody asks what came after.
    let mut previous = before
        .and_then(Result::ok)
        .map_or(GENESIS, |entry| entry.digest);
    let (text, cut_off) = texts(chunk.lines);
    let mut lines = Vec::with_capacity(text.len() / LINE);
    let mut start = 0;
    for line in text.split_inclusive('\n') {
        let read = read_line(line, start, &previous, whole, is_kept);
        start += line.len();
        let is_wrong = !matches!(&read, Ok(line) if line.reading.said.is_ok());
        previous = read.as_ref().map_or(previous, |line| line.reading.digest);
        lines.push(read);
        if is_wrong {
            return ReadChunk { text, lines };
        }
    }
    lines.extend(cut_off.map(Err));
    ReadChunk { text, lines }
}

/// Takes the lines that are text, and what is wrong with the one after them, if one is not.
fn texts(lines: Vec<u8>) -> (String, Option<Wrong>) {
    let error = match String::from_utf8(lines) {
        Ok(text) => return (text, None),
        Err(error) => error,
    };
    let valid = error.utf8_error().valid_up_to();
    let bytes = error.as_bytes();
    let end = bytes[..valid].iter().rposition(|byte| *byte == b'\n');
    let (texts, rest) = bytes.split_at(end.map_or(0, |end| end + 1));
    let line = rest.split_inclusive(|byte| *byte == b'\n').next();
    let wrong = line.and_then(|line| text(line).err());
    (String::from_utf8_lossy(texts).into_owned(), wrong)
}

/// Reads a line, with its end, that begins at a place of the text of a chunk.
fn read_line(
    line: &str,
    start: usize,
    previous: &Digest,
    whole: bool,
    is_kept: bool,
) -> Result<Line, Wrong> {
    let line = line.strip_suffix('\n').ok_or(CUT_OFF)?;
    let read = |entry: EntryText<'_>| {
        let body = start + export::BODY.len();
        Line {
            reading: reading::read(entry, previous, whole),
            body: body..body + entry.body.len(),
            is_opened: entry.opening.is_some(),
            entry: is_kept.then(|| entry.to_entry()),
        }
    };
    // Its body and its opening are JSON if they could be read.
    match export::split_line(line).map(read) {
        Some(read) if read.reading.said.is_ok() => Ok(read),
        _ => parts(line).map(read),
    }
}

/// Finds the parts of an entry in its line, without its end.
fn parts(line: &str) -> Result<EntryText<'_>, Wrong> {
    export::read_line(line).map_err(Wrong::Spelling)
}

const CUT_OFF: Wrong = Wrong::Text("the last line has no end; the file is cut off");

/// Returns a line without its end, which every one must have.
fn text(line: &[u8]) -> Result<&str, Wrong> {
    let line = line.strip_suffix(b"\n").ok_or(CUT_OFF)?;
    std::str::from_utf8(line).map_err(|_| Wrong::Text("a line is not UTF-8"))
}

/// Reads an export again for the entries that later ones say were published.
fn look_back(path: &Path, backward: &[Backward]) -> Result<(), End> {
    let mut asked: BTreeMap<u64, Vec<Backward>> = BTreeMap::new();
    for backward in backward {
        asked.entry(backward.head.seq).or_default().push(*backward);
    }
    let Some(last) = asked.keys().next_back().copied() else {
        return Ok(());
    };
    let mut lines = Lines::of(path)?;
    // The header.
    lines.next()?;
    for seq in 1..=last {
        let (line, asked) = (lines.next()?, asked.remove(&seq));
        for backward in asked.into_iter().flatten() {
            let entry = line.map(export::read_line);
            let found = entry.and_then(Result::ok).map(|entry| entry.digest);
            compare_backward(backward, found)?;
        }
    }
    Ok(())
}

/// The lines of a file.
struct Lines<'p> {
    reader: BufReader<File>,
    line: Vec<u8>,
    path: &'p Path,
}

impl<'p> Lines<'p> {
    fn of(path: &'p Path) -> Result<Self, Fault> {
        let file = File::open(path).map_err(|source| Fault::file(path, source))?;
        Ok(Self {
            reader: BufReader::with_capacity(1 << 13, file),
            line: Vec::new(),
            path,
        })
    }

    /// Returns the next line without its end.
    fn next(&mut self) -> Result<Option<&str>, End> {
        self.line.clear();
        let mut reader = self.reader.by_ref().take(LINE_MAX);
        let read = reader.read_until(b'\n', &mut self.line);
        match read.map_err(|source| Fault::file(self.path, source))? {
            0 => Ok(None),
            _ => text(&self.line).map(Some).map_err(|wrong| wrong.at(0)),
        }
    }

    /// Hands in all lines that are left.
    fn hand_all<R>(mut self, gate: &In<Result<Chunk, Fault>, R>) -> Result<(), Closed> {
        let mut before = None;
        loop {
            let lines = match self.chunk() {
                Ok(lines) if lines.is_empty() => return Ok(()),
                Ok(lines) => lines,
                Err(source) => return gate.hand(Err(Fault::file(self.path, source))),
            };
            let last = lines.split_inclusive(|byte| *byte == b'\n').next_back();
            let last = last.map(<[u8]>::to_owned);
            gate.hand(Ok(Chunk { before, lines }))?;
            before = last;
        }
    }

    /// Returns some of the lines that are left.
    fn chunk(&mut self) -> io::Result<Vec<u8>> {
        let mut lines = Vec::with_capacity(CHUNK_ROOM);
        self.reader.by_ref().take(CHUNK).read_to_end(&mut lines)?;
        // A longer one is cut off, as one without an end is.
        let mut rest = self.reader.by_ref().take(LINE_MAX);
        rest.read_until(b'\n', &mut lines)?;
        Ok(lines)
    }
}
