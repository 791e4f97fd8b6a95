//! What the author accepts as a weakness, and what the digest binds.

use super::page::{Page, code};
use crate::protocol::defect::Code;
use crate::protocol::model::Protocol;
use crate::protocol::registration::Registration;

/// Says each accepted weakness: what it is, and the author's reason.
pub(super) fn limitations(page: &mut Page, protocol: &Protocol) {
    page.heading(2, "Which weaknesses does the author accept?");
    if protocol.limitations.is_empty() {
        page.item("None is named.");
    }
    for (name, reason) in &protocol.limitations {
        let known = Code::ALL.iter().find(|known| known.text() == name);
        let meaning = known.map_or(String::new(), |known| format!(": {}", known.description()));
        page.author(
            &format!("{}{meaning} The author's reason", code(name)),
            reason,
        );
    }
}

/// Says the digests: of the frame, of each file, and of everything together.
pub(super) fn digests(page: &mut Page, registration: &Registration) {
    // What the protocol says is what every section above has said.
    let Registration {
        language,
        protocol,
        frame,
        files,
    } = registration;
    page.heading(2, "What is bound?");
    page.say(&format!(
        "The registration is everything above, in language {language}, together with:"
    ));
    page.item(match &protocol.open_fields {
        None => format!("the tasks of the frame: `sha256:{frame}`"),
        Some(_) => format!("the fields that a task of the frame has: `sha256:{frame}`"),
    });
    for (path, digest) in files {
        page.item(format!("{}: `sha256:{digest}`", code(path)));
    }
    page.say(&format!(
        "Registration digest: `sha256:{}`",
        registration.digest()
    ));
}
