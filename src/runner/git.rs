//! A workspace that is one commit of a repository, with nothing that came after it, or before.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs;
use std::path::Path;
use std::time::Duration;

use super::process::{self, Interrupt, Job};

/// How long one step may take.
const STEP_MAX: Duration = Duration::from_secs(15 * 60);
/// The most bytes that are kept of what a step prints.
const OUTPUT_MAX: u64 = 4096;

/// A repository that cannot be laid, and why.
#[derive(Debug, thiserror::Error)]
#[error("the commit {commit} of `{url}` cannot be laid: {why}")]
pub struct GitFault {
    url: String,
    commit: String,
    why: String,
}

/// Where a commit is to be laid, and by what.
pub(super) struct Checkout<'a> {
    pub(super) url: &'a str,
    pub(super) commit: &'a str,
    pub(super) base: &'a Path,
    pub(super) workspace: &'a Path,
    pub(super) env: &'a BTreeMap<OsString, OsString>,
    pub(super) interrupt: &'a Interrupt,
}

impl Checkout<'_> {
    /// Lays the commit. Of other commits, names of branches and where it came from nothing is left.
    pub(super) fn lay(&self) -> Result<(), GitFault> {
        let beside = self.base.join(self.url);
        let url = match beside.exists() {
            true => beside.display().to_string(),
            false => self.url.to_owned(),
        };
        self.step(&["init", "-q", "."])?;
        self.step(&["fetch", "-q", "--depth=1", "--no-tags", &url, self.commit])?;
        self.step(&["checkout", "-q", "--detach", "FETCH_HEAD"])?;
        // An index with the times of the files in it would be another one in every workspace.
        self.step(&["read-tree", "HEAD"])?;
        let head = self.step(&["rev-parse", "HEAD"])?;
        if head.trim() != self.commit {
            return Err(self.fault(format!("`{}` came instead", head.trim())));
        }
        let inside = self.workspace.join(".git");
        let gone = fs::remove_file(inside.join("FETCH_HEAD"))
            .and_then(|()| fs::remove_dir_all(inside.join("logs")));
        gone.map_err(|error| self.fault(error.to_string()))
    }

    fn fault(&self, why: String) -> GitFault {
        GitFault {
            url: self.url.to_owned(),
            commit: self.commit.to_owned(),
            why,
        }
    }

    /// Executes a step; returns what it printed.
    fn step(&self, words: &[&str]) -> Result<String, GitFault> {
        let command: Vec<String> = std::iter::once(&"git")
            .chain(words)
            .map(|word| (*word).to_owned())
            .collect();
        let mut env = self.env.clone();
        // Nobody is there to answer.
        env.insert("GIT_TERMINAL_PROMPT".into(), "0".into());
        // A repository that this program is called in is not the one that is meant.
        env.retain(|name, _| {
            !["GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE"].contains(&&*name.to_string_lossy())
        });
        let folder = tempfile::Builder::new().prefix("prereg-").tempdir();
        let folder = folder.map_err(|error| self.fault(error.to_string()))?;
        let (stdout, stderr) = (folder.path().join("stdout"), folder.path().join("stderr"));
        let job = Job {
            command: &command,
            base: self.base,
            dir: self.workspace,
            env: &env,
            timeout: STEP_MAX,
            grace: Duration::ZERO,
            output_max: OUTPUT_MAX,
            stdout: &stdout,
            stderr: &stderr,
        };
        let ended = process::execute(&job, self.interrupt, drop);
        let ended = ended.map_err(|fault| self.fault(fault.to_string()))?;
        let read = |path: &Path| fs::read_to_string(path).unwrap_or_default();
        if ended.exit != Some(0) {
            let said = read(&stderr);
            let said: String = said
                .lines()
                .next()
                .unwrap_or_default()
                .chars()
                .filter(|c| !c.is_control())
                .collect();
            return Err(self.fault(format!("`git {}` failed: {said}", words[0])));
        }
        Ok(read(&stdout))
    }
}
