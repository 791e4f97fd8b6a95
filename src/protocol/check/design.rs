//! Checks what is compared, on what, and in which order.

use std::collections::BTreeMap;

use super::{Checker, SHOWN_MAX};
use crate::protocol::defect::{Code, Defect, Place};
use crate::protocol::draft::{
    ArmsOrder, Axis, BlockKind, CountText, Draft, DrawMethod, LateReport, OrderBy, Serial,
    SplitKind,
};
use crate::protocol::frame::{self, Task};
use crate::protocol::model::{Allocation, Attempts, Draw, Protocol, Study};
use crate::units::Micros;

/// Names that some file systems keep for devices.
const RESERVED: &[&str] = &[
    "con", "prn", "aux", "nul", "com1", "com2", "com3", "com4", "lpt1", "lpt2", "lpt3",
];

impl Checker<'_> {
    pub(super) fn study(&mut self, draft: &Draft) -> Study {
        let study = &draft.study;
        self.portable("/study/id", &study.id.0);
        Study {
            id: study.id.0.clone(),
            title: study.title.clone(),
            question: study.question.clone(),
            hypotheses: study.hypotheses.clone(),
        }
    }

    /// Refuses an identifier that some file systems cannot hold.
    pub(super) fn portable(&mut self, pointer: &str, id: &str) {
        let stem = id.split('.').next().unwrap_or_default().to_lowercase();
        if RESERVED.contains(&stem.as_str()) {
            self.refuse(
                Code::Id,
                Place::Value(pointer.to_owned()),
                format!("`{id}` is a device's name on some systems; choose another"),
            );
        }
    }

    /// Refuses identifiers that are equal, or differ in case alone.
    pub(super) fn distinct<'d>(&mut self, ids: impl Iterator<Item = (String, &'d str)>) {
        let mut seen: BTreeMap<String, &str> = BTreeMap::new();
        for (pointer, id) in ids {
            match seen.insert(id.to_lowercase(), id) {
                Some(first) if first == id => {
                    self.refuse(
                        Code::DuplicateId,
                        Place::Value(pointer),
                        format!("`{id}` is declared twice"),
                    );
                }
                Some(first) => {
                    self.refuse(
                        Code::DuplicateId,
                        Place::Value(pointer),
                        format!("`{id}` and `{first}` differ in case alone"),
                    );
                }
                None => {}
            }
        }
    }

    /// Reads the frame; without one that can be read there are no tasks, and one defect.
    pub(super) fn tasks(&mut self, draft: &Draft) -> Vec<Task> {
        let path = draft.tasks.frame.0.as_str();
        let place = Place::Value("/tasks/frame".to_owned());
        if path == "open" || !self.inside(place.clone(), path) {
            return Vec::new();
        }
        let bytes = match self.folder.read(path, frame::FRAME_MAX) {
            Ok(bytes) => bytes,
            Err(fault) => {
                self.refuse_fault(place, path, fault);
                return Vec::new();
            }
        };
        match frame::read(&bytes) {
            Ok(tasks) => {
                self.splits(draft, &tasks);
                tasks
            }
            Err(faults) => {
                let more = faults.len().saturating_sub(SHOWN_MAX * 4);
                for fault in faults.into_iter().take(SHOWN_MAX * 4) {
                    let place = Place::Span(fault.offset..fault.offset + 1);
                    self.push(
                        Defect::new(
                            Code::Frame,
                            place,
                            format!("line {}: {}", fault.line, fault.message),
                        )
                        .in_file(path),
                    );
                }
                if more > 0 {
                    self.refuse(
                        Code::Frame,
                        place,
                        format!("`{path}` has {more} more lines that are not tasks"),
                    );
                }
                Vec::new()
            }
        }
    }

    fn splits(&mut self, draft: &Draft, tasks: &[Task]) {
        let Some(splits) = &draft.tasks.splits else {
            return;
        };
        let known: Vec<&str> = splits.keys().map(String::as_str).collect();
        let undeclared = tasks
            .iter()
            .filter(|task| frame::split_of(Some(splits), task).is_none());
        for task in undeclared.take(SHOWN_MAX) {
            let place = Place::Key("/tasks/splits".to_owned());
            match task.text("split") {
                Some(split) => {
                    let message = format!(
                        "the task `{}` is in the split `{split}`, which is not declared",
                        task.id
                    );
                    self.unknown(Code::UnknownSplit, place, message, split, &known);
                }
                None => self.refuse(
                    Code::UnknownSplit,
                    place,
                    format!("the task `{}` has no text field `split`", task.id),
                ),
            }
        }
    }

    pub(super) fn draw(&mut self, draft: &Draft, tasks: &[Task]) -> Draw {
        let splits = draft.tasks.splits.as_ref();
        let confirmatory = tasks
            .iter()
            .filter(|task| frame::split_of(splits, task) == Some(SplitKind::Confirmatory))
            .count();
        if !tasks.is_empty() && confirmatory == 0 {
            self.refuse(
                Code::Draw,
                Place::Key("/tasks/splits".to_owned()),
                "no task is in a confirmatory split",
            );
        }
        let Some(draw) = &draft.draw else {
            return Draw {
                method: DrawMethod::Listed,
                seed: None,
                size: None,
            };
        };
        if draw.method == DrawMethod::Shuffled && draw.seed.is_none() {
            self.push(
                Defect::new(
                    Code::Draw,
                    Place::Value("/draw/method".to_owned()),
                    "a shuffled draw needs `seed`",
                )
                .note(
                    "any text; best a public value that nobody knew when the protocol was written",
                ),
            );
        }
        match draw.size {
            Some(size) if !tasks.is_empty() && confirmatory > 0 && size > confirmatory as u64 => {
                let message = format!(
                    "{size} tasks are to be drawn, but the frame has {confirmatory} confirmatory tasks"
                );
                self.refuse(Code::Draw, Place::Value("/draw/size".to_owned()), message);
            }
            _ => {}
        }
        Draw {
            method: draw.method,
            seed: draw.seed.clone(),
            size: draw.size,
        }
    }

    pub(super) fn allocation(&mut self, draft: &Draft) -> Option<Allocation> {
        let allocation = &draft.allocation;
        let nest = self.nest(allocation.nest.as_deref());
        let repeats = match (allocation.repeats, draft.stages.is_empty()) {
            (Some(repeats), true) => Some(repeats),
            (None, false) => Some(draft.stages.iter().map(|stage| stage.repeats).sum()),
            (Some(_), false) => {
                self.refuse(
                    Code::UnknownKey,
                    Place::Key("/allocation/repeats".to_owned()),
                    "with stages, `repeats` is given in each stage and not here",
                );
                None
            }
            (None, true) => {
                self.refuse(Code::MissingKey, Place::Key("/allocation".to_owned()), "`allocation` needs the key `repeats`: how often each arm is executed on each task");
                None
            }
        };
        Some(Allocation {
            nest: nest?,
            repeats: repeats?,
            arms: allocation.arms.unwrap_or(ArmsOrder::Counterbalanced),
            by: allocation.by.unwrap_or(OrderBy::Plan),
            block: allocation.block.unwrap_or(BlockKind::Task),
            serial: allocation.serial.unwrap_or(Serial::Block),
            runs_max: allocation.runs_max.unwrap_or(1),
            run_seed: allocation.run_seed,
        })
    }

    fn nest(&mut self, axes: Option<&[Axis]>) -> Option<[Axis; 3]> {
        let all = [Axis::Task, Axis::Repeat, Axis::Arm];
        let Some(axes) = axes else { return Some(all) };
        if let [Axis::Arm, Axis::Repeat] = axes {
            return Some([Axis::Task, Axis::Arm, Axis::Repeat]);
        }
        match <[Axis; 3]>::try_from(axes) {
            Ok(nest) if all.iter().all(|axis| nest.contains(axis)) => Some(nest),
            _ => {
                self.refuse(
                    Code::Word,
                    Place::Value("/allocation/nest".to_owned()),
                    "`nest` names \"task\", \"repeat\" and \"arm\", each once, outermost first",
                );
                None
            }
        }
    }

    pub(super) fn attempts(&mut self, draft: &Draft) -> Attempts {
        let default = crate::protocol::draft::Attempts::default();
        let attempts = draft.attempts.as_ref().unwrap_or(&default);
        let count = |count: &Option<CountText>, otherwise: u32| match count {
            None => Some(otherwise),
            Some(CountText(value)) => value.as_u64().and_then(|count| u32::try_from(count).ok()),
        };
        let mut rerun = attempts.rerun.clone();
        rerun.sort_unstable();
        rerun.dedup();
        let per_slot = count(&attempts.per_slot, 1);
        if per_slot == Some(1) && !rerun.is_empty() {
            self.refuse(
                Code::Range,
                Place::Value("/attempts/rerun".to_owned()),
                "`rerun` names causes, but `per_slot = 1` allows no second attempt",
            );
        }
        Attempts {
            per_slot,
            rerun,
            stale_after: self
                .duration("/attempts/stale_after", attempts.stale_after.as_ref())
                .unwrap_or(Micros(6 * 3_600_000_000)),
            late_report: attempts.late_report.unwrap_or(LateReport::Refuse),
            voids_max: count(&attempts.voids_max, 3),
        }
    }

    /// Refuses a run that would count as stale while it may still be live.
    pub(super) fn deadlines(&mut self, protocol: &Protocol) {
        let longest = protocol
            .arms
            .iter()
            .map(|arm| &arm.execution)
            .chain([&protocol.execution]);
        let longest = longest
            .filter_map(|execution| Some(execution.timeout?.0 + execution.grace.0))
            .max();
        if let Some(longest) = longest.filter(|longest| protocol.attempts.stale_after.0 <= *longest)
        {
            let message = format!(
                "a run counts as stale after {}, but it may live for {} (its limit and its grace)",
                protocol.attempts.stale_after,
                Micros(longest)
            );
            self.push(
                Defect::new(
                    Code::Range,
                    Place::Value("/attempts/stale_after".to_owned()),
                    message,
                )
                .note("make stale_after longer"),
            );
        }
    }
}
