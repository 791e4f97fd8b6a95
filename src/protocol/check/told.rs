//! In which order defects are told, and how many of them.

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet};

use crate::protocol::defect::{Code, DEFECTS_MAX, Defect, Found};
use crate::protocol::source::{Source, line_of};

/// How many more lines are named for a name that stands on many.
const LINES_MAX: usize = 20;

/// Puts defects in the order of the file, each once, and cuts off those that are too many to read.
pub(super) fn in_order(mut defects: Vec<Defect>, text: &str, source: &Source<'_>) -> Vec<Defect> {
    defects.sort_by_cached_key(|defect| (defect.file.clone(), source.span(&defect.place).start));
    defects.dedup();
    let line = |defect: &Defect| line_of(text, source.span(&defect.place).start);
    let mut found = Found::default();
    found.extend(each_name_once(defects, line));
    found.told()
}

/// Tells a name that is nowhere declared once, with the other lines that have it.
fn each_name_once(defects: Vec<Defect>, line: impl Fn(&Defect) -> usize) -> Vec<Defect> {
    const NAMES: &[Code] = &[
        Code::UnknownKey,
        Code::UnknownName,
        Code::UnknownArm,
        Code::UnknownOutcome,
    ];
    let mut told: Vec<(Defect, BTreeSet<usize>)> = Vec::new();
    let mut names: BTreeMap<(Code, String), usize> = BTreeMap::new();
    for defect in defects {
        let first = match names.entry((defect.code, defect.message.clone())) {
            Entry::Occupied(first) if NAMES.contains(&defect.code) => *first.get(),
            entry => {
                entry.or_insert(told.len());
                told.push((defect, BTreeSet::new()));
                continue;
            }
        };
        let lines = &mut told[first].1;
        if first < DEFECTS_MAX && lines.len() < LINES_MAX {
            lines.insert(line(&defect));
        }
    }
    let with_lines = |(mut defect, mut lines): (Defect, BTreeSet<usize>)| {
        if !lines.is_empty() {
            lines.remove(&line(&defect));
        }
        let lines: Vec<String> = lines.iter().map(usize::to_string).collect();
        let same = match lines.as_slice() {
            [] => return defect,
            [only] => format!("the same on line {only}"),
            [rest @ .., last] => format!("the same on lines {} and {last}", rest.join(", ")),
        };
        defect.note = Some(match defect.note {
            Some(note) => format!("{note}; {same}"),
            None => same,
        });
        defect
    };
    told.into_iter().map(with_lines).collect()
}
