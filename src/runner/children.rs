//! What a session that was killed has left: its own note, and processes that carry a mark.
//!
//! The note names nobody: while it stands, the session is at work or was killed. What is executed for a
//! run has a supervisor, which is noted beside the run; looks at the world have none. What neither a
//! supervisor nor the kernel has ended is found by a variable that every arm, judge and look is given,
//! and that names a place of their own.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::fs::{self, File};
use std::io;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

use super::process::{ProcessIdentity, end_orphan};
use crate::units::RunId;

/// How a session's note is called.
const SESSION: &str = "session";

/// The note of a session that is at work.
#[derive(Debug)]
pub struct Note {
    path: PathBuf,
}

impl Note {
    /// Makes the note.
    pub fn of_session(folder: &Path) -> io::Result<Self> {
        let path = folder.join(SESSION);
        File::create(&path)?;
        Ok(Self { path })
    }

    /// Removes the note: the session has come to its end.
    pub fn remove(self) -> io::Result<()> {
        fs::remove_file(self.path)
    }
}

/// Returns whether a session was killed, and nobody has cleared up after it yet.
///
/// Only for a session that holds the folder's lock, before it makes its own note.
pub fn was_killed(folder: &Path) -> bool {
    folder.join(SESSION).exists()
}

/// The variable that marks what a run has started: the path of its workspace.
pub const MARK: &str = "PREREG_RUN";

/// Returns the variable that marks what a look of a session has started.
pub fn look_mark(runs: &Path) -> (OsString, OsString) {
    (MARK.into(), runs.join("look").into())
}

/// How often processes are looked for while they start new ones.
const LOOKS_MAX: usize = 8;

/// Ends every process that carries the mark of this folder, but for those of runs that go on.
///
/// Only for a session that holds the folder's lock: nothing there is anybody else's. Where the
/// system does not show environments, nothing is found.
pub fn end_marked(folder: &Path, spared: &BTreeSet<RunId>) {
    let spared: BTreeSet<String> = spared.iter().map(ToString::to_string).collect();
    end_all(folder, |of| !spared.contains(of));
}

/// Ends every process that carries the mark of a run.
pub fn end_marked_run(folder: &Path, run: RunId) {
    let run = run.to_string();
    end_all(folder, |of| of == run);
}

/// Ends the marked processes of those that are to be ended, which are named as in their mark.
fn end_all(folder: &Path, is_to_end: impl Fn(&str) -> bool) {
    let mut mark = OsString::from(format!("{MARK}="));
    mark.push(folder);
    mark.push("/");
    for _ in 0..LOOKS_MAX {
        let found: Vec<ProcessIdentity> = marked(mark.as_bytes(), &is_to_end).collect();
        if found.is_empty() {
            return;
        }
        for identity in found {
            // What cannot be ended now is looked at again.
            let _ = end_orphan(&identity);
        }
    }
}

/// Returns the living processes whose environment has a variable that begins so and is to be ended.
fn marked(mark: &[u8], is_to_end: impl Fn(&str) -> bool) -> impl Iterator<Item = ProcessIdentity> {
    let processes = fs::read_dir("/proc").into_iter().flatten().flatten();
    processes.filter_map(move |entry| {
        let pid = entry.file_name().to_str()?.parse().ok()?;
        let carries = || {
            let environment = fs::read(entry.path().join("environ")).unwrap_or_default();
            let mut variables = environment.split(|byte| *byte == 0);
            variables.any(|variable| {
                let of = variable.strip_prefix(mark).map(<[u8]>::to_vec);
                of.is_some_and(|of| is_to_end(&OsString::from_vec(of).to_string_lossy()))
            })
        };
        if !carries() {
            return None;
        }
        let identity = ProcessIdentity::of_pid(pid)?;
        // Looked at again, now that it is known when the process was started.
        carries().then_some(identity)
    })
}
