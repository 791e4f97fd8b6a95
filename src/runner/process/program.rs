//! Finds the program of a command, and says plainly why it could not be started.

use std::ffi::{OsStr, OsString};
use std::io;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use rustix::fs::{Access, access};
use rustix::io::Errno;

use super::Job;

/// Tells why a command never ran, or was lost sight of and ended.
#[derive(Debug, thiserror::Error)]
pub enum SpawnFault {
    /// There is no program and so nothing to execute.
    #[error("the command is empty")]
    Empty,
    /// No absolute entry of PATH holds such a program.
    #[error("`{program}` was not found on PATH")]
    NotOnPath {
        /// As in the command.
        program: String,
    },
    /// The path leads nowhere.
    #[error("`{program}` does not exist: there is no `{}`", path.display())]
    Missing {
        /// As in the command.
        program: String,
        /// As looked up.
        path: PathBuf,
    },
    /// It stands there but is not for executing.
    #[error("`{program}` may not be executed: `{}` is no executable file", path.display())]
    NotExecutable {
        /// As in the command.
        program: String,
        /// As looked up.
        path: PathBuf,
    },
    /// It is there, but what it needs to be executed is not.
    #[error("`{program}` needs an interpreter that does not exist: see the start of `{}`", path.display())]
    InterpreterMissing {
        /// As in the command.
        program: String,
        /// As looked up.
        path: PathBuf,
    },
    /// The working directory cannot be entered.
    #[error("`{program}` could not be started in `{}`: there is no such directory", dir.display())]
    DirMissing {
        /// As in the command.
        program: String,
        /// The working directory.
        dir: PathBuf,
    },
    /// The system refused for another reason.
    #[error("`{program}` could not be started: {source}")]
    Refused {
        /// As in the command.
        program: String,
        /// What the system said.
        source: io::Error,
    },
    /// It had started, but could not be watched, and so was ended. How it went is not known.
    #[error("`{program}` could not be supervised and was ended: {source}")]
    Lost {
        /// As in the command.
        program: String,
        /// What the system said.
        source: io::Error,
    },
    /// What a supervisor said of it.
    #[error("{message}")]
    Told {
        /// The stable code.
        code: &'static str,
        /// The sentence.
        message: String,
        /// What the system said of it.
        reason: String,
        /// Whether the machine had no place for it.
        is_shortage: bool,
    },
}

/// The codes of what a supervisor can say.
const CODES: &[&str] = &[
    "command-empty",
    "program-not-on-path",
    "program-missing",
    "program-not-executable",
    "interpreter-missing",
    "directory-missing",
    LOST,
];

/// The code of what was lost sight of.
const LOST: &str = "supervision-lost";

impl SpawnFault {
    /// Returns the stable code.
    pub fn code(&self) -> &'static str {
        match self {
            Self::Empty => "command-empty",
            Self::NotOnPath { .. } => "program-not-on-path",
            Self::Missing { .. } => "program-missing",
            Self::NotExecutable { .. } => "program-not-executable",
            Self::InterpreterMissing { .. } => "interpreter-missing",
            Self::DirMissing { .. } => "directory-missing",
            Self::Refused { .. } => "spawn-refused",
            Self::Lost { .. } => LOST,
            Self::Told { code, .. } => code,
        }
    }

    /// Returns whether the machine had no place for another process, or for watching it: that says
    /// nothing of the program.
    pub fn is_shortage(&self) -> bool {
        if let Self::Told { is_shortage, .. } = self {
            return *is_shortage;
        }
        let (Self::Refused { source, .. } | Self::Lost { source, .. }) = self else {
            return false;
        };
        let errno = source.raw_os_error().map(Errno::from_raw_os_error);
        let shortages = [Errno::AGAIN, Errno::NOMEM, Errno::MFILE, Errno::NFILE];
        errno.is_some_and(|errno| shortages.contains(&errno))
    }

    /// Returns whether it may have run: how far it came is not known.
    pub fn is_lost(&self) -> bool {
        self.code() == LOST
    }

    /// Makes the fault that a supervisor told of.
    pub(in crate::runner) fn told(
        code: &str,
        message: String,
        reason: String,
        is_shortage: bool,
    ) -> Self {
        let known = CODES.iter().find(|known| **known == code);
        Self::Told {
            code: known.copied().unwrap_or("spawn-refused"),
            message,
            reason,
            is_shortage,
        }
    }

    /// Returns what the system said, without the program that it was said of.
    pub(in crate::runner) fn reason(&self) -> String {
        match self {
            Self::Refused { source, .. } | Self::Lost { source, .. } => source.to_string(),
            Self::Told { reason, .. } => reason.clone(),
            _ => self.to_string(),
        }
    }

    pub(in crate::runner) fn refused(job: &Job<'_>, source: io::Error) -> Self {
        Self::Refused {
            program: job.command.first().cloned().unwrap_or_default(),
            source,
        }
    }

    pub(in crate::runner) fn lost(job: &Job<'_>, source: io::Error) -> Self {
        Self::Lost {
            program: job.command.first().cloned().unwrap_or_default(),
            source,
        }
    }
}

/// Returns the command, ready to spawn.
///
/// Only what the standard library can do with `posix_spawn` is asked for: forking a runner with
/// much memory would be many times slower.
pub(in crate::runner) fn prepare(job: &Job<'_>, output: [Stdio; 2]) -> Result<Command, SpawnFault> {
    let [stdout, stderr] = output;
    let (name, arguments) = job.command.split_first().ok_or(SpawnFault::Empty)?;
    let mut command = Command::new(find(name, job)?);
    if !name.contains('/') {
        // Programs that behave by the name they are called by see the name in the command.
        command.arg0(name);
    }
    command
        .args(arguments)
        .current_dir(job.dir)
        .env_clear()
        .envs(job.env)
        .process_group(0)
        .stdin(Stdio::null())
        .stdout(stdout)
        .stderr(stderr);
    Ok(command)
}

/// Refuses a program that could not be started now, before anything is.
pub fn must_exist(name: &str, base: &Path, path: &OsStr) -> Result<(), SpawnFault> {
    if !name.contains('/') {
        return look_up(name, path).map(drop);
    }
    let program = name.to_owned();
    match resolve(name, base) {
        path if !path.exists() => Err(SpawnFault::Missing { program, path }),
        path if is_barred(&path) => Err(SpawnFault::NotExecutable { program, path }),
        _ => Ok(()),
    }
}

/// Returns the absolute path of a program.
fn find(name: &str, job: &Job<'_>) -> Result<PathBuf, SpawnFault> {
    if name.contains('/') {
        Ok(resolve(name, job.base))
    } else {
        let path = job.env.get(OsStr::new("PATH"));
        look_up(name, path.map(OsString::as_os_str).unwrap_or_default())
    }
}

fn resolve(name: &str, base: &Path) -> PathBuf {
    let path = base.join(name);
    // Without a current directory the spawn will say what is missing.
    std::path::absolute(&path).unwrap_or(path)
}

fn look_up(name: &str, path: &OsStr) -> Result<PathBuf, SpawnFault> {
    let mut barred = None;
    // A relative entry would let a file that an arm has written pass for a program.
    for folder in std::env::split_paths(path).filter(|folder| folder.is_absolute()) {
        let candidate = folder.join(name);
        if !candidate.is_file() {
            continue;
        }
        if access(&candidate, Access::EXEC_OK).is_ok() {
            return Ok(candidate);
        }
        barred.get_or_insert(candidate);
    }
    let program = name.to_owned();
    Err(match barred {
        Some(path) => SpawnFault::NotExecutable { program, path },
        None => SpawnFault::NotOnPath { program },
    })
}

/// Says why a spawn failed. The system's answer alone does not tell a missing program from a
/// missing directory or interpreter.
pub(in crate::runner) fn explain(source: io::Error, job: &Job<'_>) -> SpawnFault {
    let Some(program) = job.command.first().cloned() else {
        return SpawnFault::Empty;
    };
    let Ok(path) = find(&program, job) else {
        return SpawnFault::NotOnPath { program };
    };
    match Errno::from_io_error(&source) {
        Some(Errno::NOENT | Errno::NOTDIR) if !job.dir.is_dir() => SpawnFault::DirMissing {
            program,
            dir: job.dir.to_path_buf(),
        },
        Some(Errno::NOENT | Errno::NOTDIR) if !path.exists() => {
            SpawnFault::Missing { program, path }
        }
        Some(Errno::NOENT) => SpawnFault::InterpreterMissing { program, path },
        Some(Errno::ACCESS) if is_barred(&path) => SpawnFault::NotExecutable { program, path },
        _ => SpawnFault::Refused { program, source },
    }
}

fn is_barred(path: &Path) -> bool {
    !path.is_file() || access(path, Access::EXEC_OK).is_err()
}
