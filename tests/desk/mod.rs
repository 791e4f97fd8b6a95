//! A desk to try the command at: a folder with the shipped protocols, and transcripts of what is said.

#![allow(dead_code, unused_macros, reason = "each test uses a part")]
#![expect(
    clippy::unwrap_used,
    reason = "a test stops at the first broken assumption"
)]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use tempfile::TempDir;

/// A folder with a copy of the shipped protocols.
pub(crate) struct Desk {
    folder: TempDir,
}

impl Desk {
    pub(crate) fn new() -> Self {
        let folder = TempDir::new().unwrap();
        copy(
            &Path::new(env!("CARGO_MANIFEST_DIR")).join("protocols"),
            folder.path(),
        );
        Self { folder }
    }

    /// Lays a folder of the tests over it.
    pub(crate) fn lay(&self, folder: &str) {
        let from = Path::new(env!("CARGO_MANIFEST_DIR"))
            .join("tests")
            .join(folder);
        copy(&from, self.folder.path());
    }

    /// Writes a file.
    pub(crate) fn write(&self, name: &str, text: &str) {
        fs::write(self.path(name), text).unwrap();
    }

    /// Returns what a command line prints as data.
    pub(crate) fn json(&self, line: &str) -> serde_json::Value {
        let said = self.say(&format!("{line} --json"));
        let printed = said.lines().nth(1).unwrap();
        serde_json::from_str(printed).unwrap_or_else(|error| panic!("{error}: {said}"))
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Returns a command line that has begun.
    pub(crate) fn spawn(&self, line: &str) -> Child {
        self.command(&words(line))
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap()
    }

    fn command(&self, words: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_prereg"));
        command
            .args(words)
            .current_dir(self.folder.path())
            .env("PATH", self.programs())
            .env_remove("PREREG_CLAIM")
            .stdin(Stdio::null());
        command
    }

    /// Returns where programs are looked for: first in `bin` of the desk.
    fn programs(&self) -> std::ffi::OsString {
        let path = std::env::var_os("PATH").unwrap_or_default();
        let all = std::iter::once(self.path("bin")).chain(std::env::split_paths(&path));
        std::env::join_paths(all).unwrap()
    }

    /// Puts a program where it is found first.
    pub(crate) fn program(&self, name: &str, text: &str) {
        use std::os::unix::fs::PermissionsExt;
        fs::create_dir_all(self.path("bin")).unwrap();
        let path = self.path("bin").join(name);
        fs::write(&path, text).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    }

    /// Executes a command line; returns it with everything that was said and the exit status.
    pub(crate) fn say(&self, line: &str) -> String {
        self.words(&words(line))
    }

    /// Executes a command line of these words, which may have blanks in them or none at all.
    pub(crate) fn words(&self, words: &[&str]) -> String {
        let output = self.command(words).output().unwrap();
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
        let (out, err) = (text(output.stdout), text(output.stderr));
        let err = if err.is_empty() {
            String::new()
        } else {
            format!("--- stderr\n{err}")
        };
        format!(
            "$ prereg {}\n{out}{err}--- exit {}\n",
            words.join(" "),
            output.status.code().unwrap()
        )
    }

    /// Executes several command lines, one after another.
    pub(crate) fn say_all(&self, lines: &[&str]) -> String {
        lines
            .iter()
            .map(|line| self.say(line))
            .collect::<Vec<_>>()
            .join("\n")
    }
}

fn words(line: &str) -> Vec<&str> {
    line.split_whitespace().collect()
}

fn copy(from: &Path, to: &Path) {
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let (path, target) = (entry.path(), to.join(entry.file_name()));
        // What a study run by hand in the checkout left behind is not part of it.
        if entry.file_name().to_string_lossy().contains(".prereg.") {
            continue;
        }
        if path.is_dir() {
            fs::create_dir_all(&target).unwrap();
            copy(&path, &target);
        } else {
            fs::copy(&path, &target).unwrap();
        }
    }
}

/// Compares with a snapshot in the top-level folder, with what changes from run to run left out.
macro_rules! transcript {
    ($name:literal, $text:expr) => {
        let mut settings = insta::Settings::clone_current();
        settings.set_snapshot_path("../snapshots");
        settings.set_prepend_module_to_snapshot(false);
        settings.add_filter(r"[0-9a-f]{64}", "[digest]");
        settings.add_filter(r"[0-9a-f]{4}…[0-9a-f]{4}", "[short]");
        settings.add_filter(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", "[time]");
        settings.add_filter(r"in \d+(\.\d)? s;", "in [duration];");
        settings.add_filter(r"   about \d+ s left", "");
        settings.add_filter(r"mean [\d.]+ ms", "mean [duration] ms");
        settings.add_filter(r"wall time [\d.]+ ms", "wall time [duration] ms");
        settings.add_filter(r"/\S+/([0-9a-f]{12}/\d+\.stdout)", "[folder]/$1");
        settings.add_filter(r"[0-9a-f]{12}/", "[first]/");
        settings.add_filter(r"   +", "   ");
        settings.add_filter(
            r#""(at|started_at|ended_at|closed_at|registered_at|completed)":\d{10,}"#,
            r#""$1":[micros]"#,
        );
        settings.bind(|| insta::assert_snapshot!($name, $text));
    };
}
