//! Who is being executed: one small file a worker, overwritten in place.
//!
//! This is no evidence and not part of the record. It lets the session after one that was killed
//! end what is still alive, if it can be proved to be ours, before it goes on. A runner that was
//! killed between a start and its note left none: those are found by a variable that every arm, judge
//! and look is given, and that names a place of their own.

use std::ffi::OsString;
use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use super::process::{ProcessIdentity, end_orphan};

/// The length of what is written: shorter texts are padded, so that nothing old remains behind.
const LENGTH: usize = 256;
/// How the files are called.
const PREFIX: &str = "worker-";
/// How a session's own note is called.
const SESSION: &str = "session";

/// Where a worker notes whom it executes.
#[derive(Debug)]
pub struct Note {
    path: PathBuf,
    file: File,
}

impl Note {
    /// Opens a worker's note.
    pub fn open(folder: &Path, worker: usize) -> io::Result<Self> {
        Self::at(folder.join(format!("{PREFIX}{worker}")))
    }

    /// Opens the note of a session itself, which names nobody: while it stands, the session is at work
    /// or was killed.
    pub fn of_session(folder: &Path) -> io::Result<Self> {
        Self::at(folder.join(SESSION))
    }

    fn at(path: PathBuf) -> io::Result<Self> {
        let file = OpenOptions::new()
            .create(true)
            .truncate(false)
            .write(true)
            .open(&path)?;
        Ok(Self { path, file })
    }

    /// Notes who is being executed.
    pub fn write(&self, identity: &ProcessIdentity) -> io::Result<()> {
        let mut text = serde_json::to_vec(identity)?;
        text.resize(LENGTH, b' ');
        self.file.write_all_at(&text, 0)
    }

    /// Removes the note: nobody is being executed any more.
    pub fn remove(self) -> io::Result<()> {
        fs::remove_file(self.path)
    }
}

/// Returns whether a session was killed, and nobody has cleared up after it yet.
///
/// Only for a session that holds the folder's lock, before it opens its own note.
pub fn was_killed(folder: &Path) -> bool {
    folder.join(SESSION).exists()
}

/// Ends everything that an earlier session noted and that is provably still it.
pub fn end_orphans(folder: &Path) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        if !entry.file_name().to_string_lossy().starts_with(PREFIX) {
            continue;
        }
        // A note that was never written names nobody.
        if let Ok(identity) = serde_json::from_slice::<ProcessIdentity>(&fs::read(entry.path())?) {
            // What has ended or cannot be proved to be ours is left alone; there is nobody to tell.
            let _ = end_orphan(&identity);
        }
        fs::remove_file(entry.path())?;
    }
    Ok(())
}

/// The variable that marks what a run has started: the path of its workspace.
pub const MARK: &str = "PREREG_RUN";

/// Returns the variable that marks what a look of a session has started.
pub fn look_mark(runs: &Path) -> (OsString, OsString) {
    (MARK.into(), runs.join("look").into())
}

/// How often processes are looked for while they start new ones.
const LOOKS_MAX: usize = 8;

/// Ends every process that carries the mark of a run in this folder.
///
/// Only for a session that holds the folder's lock: nothing there is anybody else's. Where the
/// system does not show environments, nothing is found.
pub fn end_marked(folder: &Path) {
    let mut mark = OsString::from(format!("{MARK}="));
    mark.push(folder);
    mark.push("/");
    for _ in 0..LOOKS_MAX {
        let found: Vec<ProcessIdentity> = marked(mark.as_bytes()).collect();
        if found.is_empty() {
            return;
        }
        for identity in found {
            // What cannot be ended now is looked at again.
            let _ = end_orphan(&identity);
        }
    }
}

/// Returns the living processes whose environment has a variable that begins so.
fn marked(mark: &[u8]) -> impl Iterator<Item = ProcessIdentity> {
    let processes = fs::read_dir("/proc").into_iter().flatten().flatten();
    processes.filter_map(|entry| {
        let pid = entry.file_name().to_str()?.parse().ok()?;
        let carries = || {
            let environment = fs::read(entry.path().join("environ")).unwrap_or_default();
            environment
                .split(|byte| *byte == 0)
                .any(|variable| variable.starts_with(mark))
        };
        if !carries() {
            return None;
        }
        let identity = ProcessIdentity::of_pid(pid)?;
        // Looked at again, now that it is known when the process was started.
        carries().then_some(identity)
    })
}
