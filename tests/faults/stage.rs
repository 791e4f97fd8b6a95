//! The steps of a run by hand, each from a record that is closed.

use std::fs;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;

use super::common::{Dice, Recipe, Said, Study, end_of};

/// What is said, in order; a second time with its key, each says the same and does nothing.
pub(crate) const STEPS: &[&[&str]] = &[
    &["register", "study.toml"],
    &["start", "t0", "right", "--key", "the start"],
    &["finish", "1", "--exit", "0", "--key", "the end"],
    &["score", "1", "--report", "report", "--key", "the score"],
];

/// A study before one of the steps, to be laid again and again.
pub(crate) struct Stage {
    pub(crate) study: Study,
    pub(crate) step: &'static [&'static str],
    record: Option<Vec<u8>>,
    /// How long the step takes.
    length: Duration,
    /// How many entries there are after the step.
    entries: usize,
    /// What stands in the folder after the step.
    files: Vec<PathBuf>,
}

impl Stage {
    /// Returns the study before each step.
    pub(crate) fn all() -> Vec<Self> {
        (0..STEPS.len()).map(Self::before).collect()
    }

    fn before(step: usize) -> Self {
        let study = Recipe {
            controls: true,
            ..Recipe::default()
        }
        .lay();
        study.write("report", r#"{"correct": true, "bytes": 1}"#);
        for said in &STEPS[..step] {
            study.data(said);
        }
        let record = fs::read(study.record()).ok();
        let began = Instant::now();
        study.data(STEPS[step]);
        Self {
            length: began.elapsed(),
            entries: study.entries().len(),
            files: files(&study),
            step: STEPS[step],
            record,
            study,
        }
    }

    /// Lays the study as it was before the step.
    pub(crate) fn lay(&self) {
        for path in files(&self.study) {
            let name = path.file_name().unwrap().to_string_lossy().into_owned();
            if name.starts_with("study.prereg") {
                fs::remove_file(path).unwrap();
            }
        }
        if let Some(record) = &self.record {
            fs::write(self.study.record(), record).unwrap();
        }
    }

    /// Returns the step's words, to be said as data.
    pub(crate) fn words(&self) -> Vec<&'static str> {
        [self.step, &["--json"]].concat()
    }

    /// Returns whether the step is on the record.
    pub(crate) fn has_happened(&self) -> bool {
        let read = self.study.prereg(&["export"]);
        // The first line is no entry.
        read.code == Some(0) && read.out.lines().count() > self.entries
    }

    /// Asserts that after a fault the same words are enough, that what was acknowledged is there, and
    /// that nothing happened twice.
    pub(crate) fn assert_goes_on(&self, place: &str, faulty: &Said) {
        let said = self.study.data(self.step);
        if let Ok(first) = serde_json::from_str::<Value>(&faulty.out)
            && first["error"].is_null()
        {
            assert_eq!(said["entry"], first["entry"], "{place}: {faulty:?}");
            let again = said["repeated"] == true || said["new"] == false;
            assert!(again, "{place}: acknowledged and lost: {faulty:?} {said}");
        }
        self.study.verify();
        let entries = self.study.entries().len();
        assert_eq!(entries, self.entries, "{place}: {faulty:?}");
        assert_eq!(files(&self.study), self.files, "{place}: {faulty:?}");
    }
}

fn files(study: &Study) -> Vec<PathBuf> {
    let mut found = super::common::files_below(&study.base);
    found.sort();
    found
}

/// Kills the steps of runs by hand at random moments.
fn kill_steps(name: &str, kills: usize) {
    let mut dice = Dice::new(name);
    let stages = Stage::all();
    let (mut killed, mut acknowledged) = (0, 0);
    for round in 0..kills {
        let stage = &stages[round % stages.len()];
        stage.lay();
        let began = Instant::now();
        let mut runner = stage.study.spawn(&stage.words());
        let delay = Duration::from_micros(dice.below(stage.length.as_micros() as u64));
        while began.elapsed() < delay {
            std::thread::yield_now();
        }
        runner.kill().unwrap();
        let said = end_of(runner);
        killed += usize::from(said.code.is_none());
        acknowledged += usize::from(!said.out.is_empty());
        stage.assert_goes_on(&format!("{:?} after {delay:?}", stage.step), &said);
    }
    println!("{name}: {killed} of {kills} were killed, {acknowledged} had acknowledged");
}

#[test]
fn steps_that_are_killed_go_on() {
    kill_steps("steps", 40);
}

#[test]
#[ignore = "takes a minute; the sample runs always"]
fn steps_that_are_killed_go_on_200() {
    kill_steps("200 steps", 200);
}

/// Returns whether a program is there.
pub(crate) fn is_there(program: &str) -> bool {
    let asked = Command::new(program)
        .arg("--version")
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status();
    asked.is_ok_and(|status| status.success())
}
