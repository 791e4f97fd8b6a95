//! Checks what is compared, on what, and in which order.

use std::collections::BTreeMap;

use super::{Checker, SHOWN_MAX};
use crate::protocol::classes::Classes;
use crate::protocol::defect::{Code, Defect, Place, nearest};
use crate::protocol::draft::{self, Draft};
use crate::protocol::frame::{self, Task};
use crate::protocol::model::{
    Allocation, ArmsOrder, Axis, BlockKind, Draw, DrawMethod, OrderBy, Serial, SplitKind, Study,
    Supersedes,
};
use crate::units::Digest;

impl Checker<'_> {
    pub(super) fn study(&mut self, draft: &Draft) -> Study {
        let study = &draft.study;
        self.portable("/study/id", &study.id.0);
        for (key, text) in [("title", &study.title), ("question", &study.question)] {
            if !text.is_empty() && text.trim().is_empty() {
                let place = Place::Value(format!("/study/{key}"));
                self.refuse(Code::Range, place, format!("the {key} is blank; write one"));
            }
        }
        let supersedes = study.supersedes.as_ref();
        let supersedes = supersedes.and_then(|supersedes| self.supersedes(study, supersedes));
        Study {
            id: study.id.0.clone(),
            title: study.title.clone(),
            question: study.question.clone(),
            hypotheses: study.hypotheses.clone(),
            kind: study.kind,
            supersedes,
        }
    }

    fn supersedes(
        &mut self,
        study: &draft::Study,
        supersedes: &draft::Supersedes,
    ) -> Option<Supersedes> {
        if supersedes.study == study.id {
            self.refuse(
                Code::DuplicateId,
                Place::Value("/study/supersedes/study".to_owned()),
                "a study cannot supersede itself; a new plan is a new study with an id of its own",
            );
        }
        for (key, text, what) in [
            ("reason", &supersedes.reason, "why it is replaced"),
            (
                "seen",
                &supersedes.seen,
                "which outcomes had been seen, or `none`",
            ),
        ] {
            if text.trim().is_empty() {
                let place = Place::Value(format!("/study/supersedes/{key}"));
                let message = format!("`{key}` is blank; write {what}");
                self.refuse(Code::Range, place, message);
            }
        }
        let digest = &supersedes.registration;
        let digest = digest.strip_prefix("sha256:").unwrap_or(digest);
        let registration = digest.parse::<Digest>().map_err(|message| {
            let place = Place::Value("/study/supersedes/registration".to_owned());
            self.refuse(Code::Literal, place, message);
        });
        Some(Supersedes {
            study: supersedes.study.0.clone(),
            registration: registration.ok()?,
            reason: supersedes.reason.clone(),
            seen: supersedes.seen.clone(),
        })
    }

    /// Reads the frame; without one that can be read there are no tasks, and one defect.
    pub(super) fn tasks(&mut self, draft: &Draft) -> Vec<Task> {
        let path = draft.tasks.frame.0.as_str();
        let place = Place::Value("/tasks/frame".to_owned());
        self.fields(draft);
        let refused = self.was_refused("/tasks/frame");
        if draft.tasks.is_open() || refused || !self.inside(place.clone(), path) {
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
            Ok(tasks) if self.splits(draft, path, &bytes, &tasks) => tasks,
            Ok(_) => Vec::new(),
            Err(faults) => {
                let more = faults.len().saturating_sub(SHOWN_MAX);
                for fault in faults.into_iter().take(SHOWN_MAX) {
                    let place = Place::Span(fault.offset..fault.offset + 1);
                    self.push(Defect::new(Code::Frame, place, fault.message).in_file(path));
                }
                if more > 0 {
                    let message = format!("{more} more lines of `{path}` are not tasks either");
                    self.refuse(Code::Frame, place, message);
                }
                Vec::new()
            }
        }
    }

    /// Checks that the fields of tasks are declared where no file says them, and only there.
    fn fields(&mut self, draft: &Draft) {
        let open = draft.tasks.is_open();
        match &draft.tasks.fields {
            None if open => {
                let why = "which fields a task has, and their types: they are registered before any task is added";
                self.missing("/tasks", "fields", why);
            }
            Some(_) if !open => self.refuse(
                Code::UnknownKey,
                Place::Key("/tasks/fields".to_owned()),
                "only an open frame declares fields; those of a file are read from it, so remove this",
            ),
            _ => {}
        }
    }

    /// Refuses tasks whose split is not declared; returns whether there were none.
    ///
    /// A task without a split, or with one that is nearly a declared one, is a slip of the frame;
    /// any other split that tasks have is missing in the table.
    fn splits(&mut self, draft: &Draft, path: &str, bytes: &[u8], tasks: &[Task]) -> bool {
        let Some(splits) = &draft.tasks.splits else {
            return !self.was_refused("/tasks/splits");
        };
        let mut known: Vec<&str> = splits.keys().map(String::as_str).collect();
        let refused = self
            .refused
            .iter()
            .filter_map(|pointer| pointer.strip_prefix("/tasks/splits/"));
        let refused: Vec<String> = refused.map(str::to_owned).collect();
        known.extend(refused.iter().map(String::as_str));
        let mut undeclared: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
        let mut slips = Vec::new();
        let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
        for split in tasks.iter().filter_map(|task| task.text("split")) {
            *counts.entry(split).or_default() += 1;
        }
        // What many tasks say is no slip of theirs.
        let rare = |split: &str| counts.get(split).is_none_or(|count| *count <= SHOWN_MAX);
        for (i, task) in tasks.iter().enumerate() {
            match task.text("split") {
                Some(split) if known.contains(&split) => {}
                Some(split) if nearest(split, known.iter().copied()).is_none() || !rare(split) => {
                    undeclared.entry(split).or_default().push(&task.id);
                }
                split => slips.push((i, split)),
            }
        }
        for (i, split) in slips.iter().take(SHOWN_MAX) {
            let start = frame::line_start(bytes, *i);
            let place = Place::Span(start..start + 1);
            self.push(split_slip(place, &tasks[*i].id, *split, &known).in_file(path));
        }
        for (split, ids) in &undeclared {
            self.undeclared_split(split, ids);
        }
        slips.is_empty() && undeclared.is_empty() && refused.is_empty()
    }

    /// Refuses a split that tasks have and that no table declares.
    fn undeclared_split(&mut self, split: &str, ids: &[&str]) {
        let message = match ids {
            [id] => format!("the task `{id}` is in the split `{split}`, which is not declared"),
            [first, ..] => format!(
                "{} tasks are in the split `{split}`, which is not declared; the first is `{first}`",
                ids.len()
            ),
            [] => return,
        };
        let place = Place::Key("/tasks/splits".to_owned());
        self.push(
            Defect::new(Code::UnknownSplit, place, message).note(format!(
                "say what it is for: {split} = \"confirmatory\" or \"pilot\""
            )),
        );
    }

    pub(super) fn draw(&mut self, draft: &Draft, tasks: &[Task]) -> Draw {
        let confirmatory = self.confirmatory(draft, tasks);
        self.drawable(draft);
        let Some(draw) = &draft.draw else {
            return Draw {
                method: DrawMethod::Listed,
                seed: None,
                size: None,
                classes: Vec::new(),
                grows: false,
            };
        };
        if draft.tasks.is_open() && draw.method != DrawMethod::Listed {
            self.push(
                Defect::new(
                    Code::Draw,
                    Place::Value("/draw/method".to_owned()),
                    "an open frame is drawn in the order in which its tasks are added",
                )
                .note("write method = \"listed\", or give the frame as a file"),
            );
        }
        self.classes(draw);
        self.growth(draft, draw);
        match draw.method {
            DrawMethod::Shuffled if draw.seed.is_none() => {
                let why = "what a shuffled draw is ordered by: any text, best a public value that nobody knew before";
                self.missing("/draw", "seed", why);
            }
            DrawMethod::Ranked if draw.classes.is_none() => {
                self.missing("/draw", "classes", "what a ranked draw is ordered by");
            }
            _ => {}
        }
        match draw.size {
            Some(size) if !tasks.is_empty() && confirmatory > 0 && size > confirmatory as u64 => {
                let message = format!(
                    "{size} tasks are to be drawn, but the frame has only {confirmatory} confirmatory tasks"
                );
                self.refuse(Code::Draw, Place::Value("/draw/size".to_owned()), message);
            }
            _ => {}
        }
        Draw {
            method: draw.method,
            seed: draw.seed.clone(),
            size: draw.size,
            classes: draw.classes.clone().unwrap_or_default(),
            grows: draw.grows.unwrap_or(false),
        }
    }

    /// Refuses an open frame from which no task could ever be drawn.
    fn drawable(&mut self, draft: &Draft) {
        let draw = draft.draw.as_ref();
        let grows = draw.is_some_and(|draw| draw.grows == Some(true));
        let refused = ["/draw/grows", "/tasks/frame"].iter();
        if !draft.tasks.is_open() || grows || refused.clone().any(|at| self.was_refused(at)) {
            return;
        }
        let place = match draw {
            Some(draw) if draw.grows.is_some() => Place::Value("/draw/grows".to_owned()),
            Some(_) => Place::Key("/draw".to_owned()),
            None => Place::Value("/tasks/frame".to_owned()),
        };
        let message = "an open frame has no task at first, and a draw that does not grow takes none up later: nothing could ever start";
        self.push(
            Defect::new(Code::Draw, place, message)
                .note("write grows = true under [draw], or give the frame as a file"),
        );
    }

    /// Refuses a draw that grows where a task that is appended would shift slots that have started.
    fn growth(&mut self, draft: &Draft, draw: &draft::Draw) {
        if draw.grows != Some(true) {
            return;
        }
        let by_counts = draft.allocation.by == Some(OrderBy::Counts);
        let nest = draft.allocation.nest.as_deref();
        // That an order by counts goes task by task is told there.
        if !by_counts && matches!(nest, Some([Axis::Repeat | Axis::Arm, _, _])) {
            let message = "a draw that grows has \"task\" first in `nest`: else a task that is appended would shift the slots after it";
            self.refuse(
                Code::Draw,
                Place::Value("/allocation/nest".to_owned()),
                message,
            );
        }
        if !draft.stages.is_empty() {
            let message = "with stages a task that is appended would shift the slots of the later ones: a draw that grows has none";
            self.push(
                Defect::new(Code::Draw, Place::Value("/draw/grows".to_owned()), message).note(
                    "leave `grows` out, or give `repeats` under [allocation] instead of [[stages]]",
                ),
            );
        }
    }

    /// Returns how many tasks can be drawn; refuses none, and several for one plan of arms and
    /// repeats.
    fn confirmatory(&mut self, draft: &Draft, tasks: &[Task]) -> usize {
        let splits = draft.tasks.splits.as_ref();
        let confirmatory = tasks
            .iter()
            .filter(|task| frame::split_of(splits, task) == Some(SplitKind::Confirmatory))
            .count();
        if !tasks.is_empty() && confirmatory == 0 {
            self.refuse(
                Code::Draw,
                Place::Key("/tasks/splits".to_owned()),
                "no task is in a confirmatory split, so nothing could be registered",
            );
        }
        let size = draft.draw.as_ref().and_then(|draw| draw.size);
        let drawn = size.map_or(confirmatory as u64, |size| size.min(confirmatory as u64));
        if draft.is_matrix() && drawn > 1 {
            let message =
                format!("a plan of arms and repeats alone is for one task, and {drawn} are drawn");
            self.push(
                Defect::new(
                    Code::Draw,
                    Place::Value("/allocation/nest".to_owned()),
                    message,
                )
                .note("draw one task (size = 1), or put \"task\" into `nest`"),
            );
        }
        confirmatory
    }

    /// Checks the classes of a ranked draw: only it has them, and each is a regular expression.
    fn classes(&mut self, draw: &draft::Draw) {
        let Some(classes) = &draw.classes else { return };
        if draw.method != DrawMethod::Ranked && !self.was_refused("/draw/method") {
            self.refuse(
                Code::UnknownKey,
                Place::Key("/draw/classes".to_owned()),
                "only a draw with method = \"ranked\" has `classes`; remove it or rank by it",
            );
        }
        self.once("/draw/classes", classes);
        for (i, class) in classes.iter().enumerate() {
            if let Err(reason) = Classes::read(std::slice::from_ref(class)) {
                let place = Place::Value(format!("/draw/classes/{i}"));
                let message = format!("`{class}` is not a regular expression: {reason}");
                self.push(Defect::new(Code::Literal, place, message).note(
                    "brackets are closed, and `\\` stands before a sign that is meant as itself",
                ));
            }
        }
    }

    pub(super) fn allocation(&mut self, draft: &Draft) -> Option<Allocation> {
        let allocation = &draft.allocation;
        let nest = self.nest(allocation.nest.as_deref());
        let seeded = draft.draw.as_ref().is_some_and(|draw| draw.seed.is_some());
        // A shuffled draw asks for the seed itself.
        let asked = draft
            .draw
            .as_ref()
            .is_some_and(|draw| draw.method == DrawMethod::Shuffled);
        if allocation.arms == Some(ArmsOrder::Shuffled) && !seeded && !asked {
            let place = Place::Value("/allocation/arms".to_owned());
            let message =
                "a shuffled order of the arms is made from the seed of `[draw]`, and there is none";
            self.push(
                Defect::new(Code::MissingKey, place, message)
                    .note("seed: any text, best a public value that nobody knew before"),
            );
        }
        let repeats = match (allocation.repeats, draft.stages.is_empty()) {
            (Some(repeats), true) => Some(repeats),
            (None, false) => Some(draft.staged_repeats()),
            (Some(_), false) => {
                self.refuse(
                    Code::UnknownKey,
                    Place::Key("/allocation/repeats".to_owned()),
                    "with stages, `repeats` is given in each stage and not here",
                );
                None
            }
            // Whether there are stages is not known then.
            (None, true) if self.was_refused("/stages") => None,
            (None, true) => {
                let why = "how often each arm is executed on each task";
                self.missing("/allocation", "repeats", why);
                None
            }
        };
        let counted = allocation.by == Some(OrderBy::Counts);
        if counted && (allocation.arms != Some(ArmsOrder::Alternating) || draft.arms.len() != 2) {
            let place = Place::Value("/allocation/by".to_owned());
            let message = "by = \"counts\" needs two arms and arms = \"alternating\"";
            self.refuse(Code::Arms, place, message);
        }
        let task_by_task = [Axis::Task, Axis::Repeat, Axis::Arm];
        if counted && nest.is_some_and(|nest| nest != task_by_task) {
            let place = Place::Value("/allocation/nest".to_owned());
            let message =
                "by = \"counts\" goes task by task: `nest` is [\"task\", \"repeat\", \"arm\"] then";
            self.refuse(Code::Arms, place, message);
        }
        if counted && allocation.block == Some(BlockKind::Pair) {
            let place = Place::Value("/allocation/block".to_owned());
            let message = "by = \"counts\" derives which slot a run fills anew each time: `block` is \"task\" then";
            self.refuse(Code::Arms, place, message);
        }
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
}

/// Says that a task's split is nearly a declared one, or absent.
fn split_slip(place: Place, id: &str, split: Option<&str>, known: &[&str]) -> Defect {
    match split {
        Some(split) => {
            let message = format!("the split `{split}` of the task `{id}` is not declared");
            let near = nearest(split, known.iter().copied()).unwrap_or_default();
            Defect::new(Code::UnknownSplit, place, message).label(format!("did you mean `{near}`?"))
        }
        None => {
            let message =
                format!("the task `{id}` has no text `split`, and [tasks.splits] needs one");
            Defect::new(Code::UnknownSplit, place, message)
                .note(format!("the splits are: {}", known.join(", ")))
        }
    }
}
