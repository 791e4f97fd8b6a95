//! What is registered as a statement of in-toto: subjects by digest, and a predicate about them.

use serde_json::{Value, json};

use super::entry::Head;
use crate::protocol::canonical;
use crate::protocol::registration::Registration;
use crate::units::{Digest, Time};

/// The type of the statement.
const STATEMENT: &str = "https://in-toto.io/Statement/v1";
/// The type of the predicate.
const PREDICATE: &str = "urn:prereg:registration:v1";

/// Returns the statement as canonical JSON with a line feed.
///
/// The head is the one of the registration, so that the statement stays the same as the study goes on.
pub fn statement(registration: &Registration, text: &str, at: Time, head: Head) -> String {
    let subject =
        |name: &str, digest: Digest| json!({ "name": name, "digest": { "sha256": digest } });
    let mut subjects = vec![
        subject("registration", registration.digest()),
        subject("protocol", Digest::of(&[text.as_bytes()])),
        subject("frame", registration.frame),
    ];
    let files = registration.files.iter();
    subjects.extend(files.map(|(path, digest)| subject(&format!("files/{path}"), *digest)));
    let statement: Value = json!({
        "_type": STATEMENT,
        "subject": subjects,
        "predicateType": PREDICATE,
        "predicate": {
            "study": registration.protocol.study.id,
            "digest": registration.digest(),
            "seed": registration.protocol.draw.seed,
            "registeredAt": at.precise(),
            "head": head,
            "registration": registration.value(),
        },
    });
    canonical::text(&statement) + "\n"
}
