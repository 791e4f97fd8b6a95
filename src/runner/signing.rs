//! The programs that sign a published line and check who stamped one: `ssh-keygen` and `openssl`.
//!
//! They are the operator's own: they see the operator's surroundings (an agent, a terminal to ask for a
//! passphrase on) and no run's.

use std::fs;
use std::io;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use crate::record::anchor::line::Published;
use crate::record::anchor::ssh::NAMESPACE;
use crate::record::anchor::timestamp::Token;

/// The most characters that are repeated of what a program says.
const SAID_MAX: usize = 200;

/// Why a program did not do what it was asked for.
#[derive(Debug, thiserror::Error)]
pub enum SigningFault {
    /// It could not be started.
    #[error("`{program}` could not be started: {source}")]
    Missing {
        /// The program.
        program: &'static str,
        /// Why.
        source: io::Error,
    },
    /// It said no.
    #[error("`{program}` said no: {said}")]
    Refused {
        /// The program.
        program: &'static str,
        /// What it said.
        said: String,
    },
    /// A file for it could not be written or read.
    #[error("a temporary file could not be used: {0}")]
    Folder(#[from] io::Error),
}

/// What was found of who stamped a line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Stamped {
    /// The authority's signature holds, and its certificate leads to one that is trusted.
    Holds,
    /// The certificate leads to none that is trusted.
    Untrusted(String),
    /// The signature does not hold.
    Broken(String),
}

/// Lets `ssh-keygen` sign a line; returns the armored signature.
pub fn sign(published: &Published, key: &Path) -> Result<String, SigningFault> {
    const PROGRAM: &str = "ssh-keygen";
    let folder = tempfile::Builder::new().prefix("prereg-").tempdir()?;
    let (line, made) = (folder.path().join("line"), folder.path().join("line.sig"));
    fs::write(&line, published.message())?;
    let mut command = Command::new(PROGRAM);
    command
        .args(["-Y", "sign", "-n", NAMESPACE, "-f"])
        .arg(key)
        .arg(&line);
    let ended = output(PROGRAM, command.stdin(Stdio::inherit()))?;
    match fs::read_to_string(&made) {
        Ok(signature) if ended.status.success() => Ok(signature),
        _ => Err(SigningFault::Refused {
            program: PROGRAM,
            said: said(&ended),
        }),
    }
}

/// Lets `openssl` check who stamped a line, by the certificates of a file, as of the time of the stamp.
pub fn check_stamp(
    published: &Published,
    token: &Token,
    authorities: &Path,
) -> Result<Stamped, SigningFault> {
    const PROGRAM: &str = "openssl";
    let folder = tempfile::Builder::new().prefix("prereg-").tempdir()?;
    let (line, stamp) = (folder.path().join("line"), folder.path().join("token"));
    fs::write(&line, published.message())?;
    fs::write(&stamp, &token.der)?;
    let seconds = token.time.0.div_euclid(1_000_000).to_string();
    let mut command = Command::new(PROGRAM);
    command
        .args(["ts", "-verify", "-token_in", "-attime", &seconds, "-data"])
        .arg(&line)
        .arg("-in")
        .arg(&stamp)
        .arg("-CAfile")
        .arg(authorities)
        .arg("-untrusted")
        .arg(authorities);
    let ended = output(PROGRAM, command.stdin(Stdio::null()))?;
    if ended.status.success() {
        return Ok(Stamped::Holds);
    }
    let said = said(&ended);
    let text = String::from_utf8_lossy(&ended.stderr).to_lowercase();
    let is_about_the_certificate = text.contains("certificate verify error");
    let is_about_the_file = text.contains("error loading") || text.contains("could not read");
    match (is_about_the_file, is_about_the_certificate) {
        (true, _) => Err(SigningFault::Refused {
            program: PROGRAM,
            said,
        }),
        (false, true) => Ok(Stamped::Untrusted(said)),
        (false, false) => Ok(Stamped::Broken(said)),
    }
}

fn output(program: &'static str, command: &mut Command) -> Result<Output, SigningFault> {
    command
        .env("LC_ALL", "C")
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .output()
        .map_err(|source| SigningFault::Missing { program, source })
}

/// Returns the last line that a program said something in.
fn said(ended: &Output) -> String {
    let text = String::from_utf8_lossy(&ended.stderr);
    let last = text.lines().map(str::trim).rfind(|line| !line.is_empty());
    let last = reason(last.unwrap_or("nothing"));
    let last = last.chars().filter(|c| !c.is_control());
    last.take(SAID_MAX).collect()
}

/// Returns why, of a line in which OpenSSL says where in its source as well.
fn reason(line: &str) -> String {
    let fields: Vec<&str> = line.split(':').collect();
    match fields.as_slice() {
        [_, "error", _, _, _, why, _file, _line, more @ ..] => {
            let more = more.iter().filter(|part| !part.is_empty());
            let parts: Vec<&str> = [*why].into_iter().chain(more.copied()).collect();
            parts.join(": ")
        }
        _ => line.to_owned(),
    }
}
