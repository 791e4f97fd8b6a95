//! What whoever publishes a head has at hand: keys of `ssh-keygen`, an authority of `openssl`.

#![allow(
    dead_code,
    unreachable_pub,
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a test that cannot go on fails where it stands, and says what it did not cover"
)]

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

/// What `openssl ts -reply` goes by.
const AUTHORITY: &str = "\
[authority]
serial = ./serial
signer_digest = sha256
default_policy = 1.2.3.4
digests = sha256, sha512
accuracy = secs:1
ess_cert_id_alg = sha256
";

/// Returns whether a program is there; says so where it is not.
pub fn has(program: &str, asks: &[&str]) -> bool {
    let mut command = Command::new(program);
    let asked = command.args(asks).stdin(Stdio::null()).output();
    if asked.is_err() {
        println!("not covered: `{program}` is not installed");
    }
    asked.is_ok()
}

/// Executes a program in a folder; it must say yes.
pub fn execute(folder: &Path, program: &str, arguments: &[&str]) -> String {
    let mut command = Command::new(program);
    let output = command
        .args(arguments)
        .current_dir(folder)
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .stdin(Stdio::null())
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{program} {arguments:?}: {said}");
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// Makes a key without a passphrase.
pub fn key(folder: &Path, name: &str, kind: &str) {
    let arguments = ["-q", "-t", kind, "-N", "", "-C", "somebody", "-f", name];
    execute(folder, "ssh-keygen", &arguments);
}

/// Lets `ssh-keygen` sign a file for a namespace; the signature stands beside it.
pub fn sign(folder: &Path, key: &str, namespace: &str, file: &str) {
    let _ = fs::remove_file(folder.join(format!("{file}.sig")));
    let arguments = ["-Y", "sign", "-n", namespace, "-f", key, file];
    execute(folder, "ssh-keygen", &arguments);
}

/// Makes an authority that stamps: `NAME.pem` is the certificate to trust.
pub fn authority(folder: &Path, name: &str) {
    let openssl = |arguments: &str| {
        let words: Vec<String> = arguments
            .split_whitespace()
            .map(|word| word.replace("NAME", name))
            .collect();
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        execute(folder, "openssl", &words);
    };
    fs::write(folder.join("authority.cnf"), AUTHORITY).unwrap();
    fs::write(folder.join("serial"), "01\n").unwrap();
    fs::write(
        folder.join("usage"),
        "extendedKeyUsage = critical,timeStamping\n",
    )
    .unwrap();
    openssl(
        "req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 30 -subj /CN=NAME -keyout NAME.key -out NAME.pem",
    );
    openssl(
        "req -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -subj /CN=NAME-stamps -keyout NAME-stamps.key -out NAME-stamps.csr",
    );
    openssl(
        "x509 -req -in NAME-stamps.csr -CA NAME.pem -CAkey NAME.key -CAcreateserial -days 20 -extfile usage -out NAME-stamps.pem",
    );
}

/// Lets an authority stamp a file: the response stands in `FILE.tsr`.
pub fn stamp(folder: &Path, authority: &str, file: &str, digest: &str) {
    let (query, response) = (format!("{file}.tsq"), format!("{file}.tsr"));
    let (signer, key) = (
        format!("{authority}-stamps.pem"),
        format!("{authority}-stamps.key"),
    );
    let digest = format!("-{digest}");
    execute(
        folder,
        "openssl",
        &[
            "ts", "-query", "-data", file, &digest, "-cert", "-out", &query,
        ],
    );
    execute(
        folder,
        "openssl",
        &[
            "ts",
            "-reply",
            "-config",
            "authority.cnf",
            "-section",
            "authority",
            "-queryfile",
            &query,
            "-signer",
            &signer,
            "-inkey",
            &key,
            "-out",
            &response,
        ],
    );
}
