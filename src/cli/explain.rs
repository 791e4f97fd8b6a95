//! `explain`: a protocol in plain English.

use serde_json::json;

use super::args::Explain;
use super::reply::{Failure, Reply};
use super::study::ProtocolFile;
use crate::report::explain;

/// Says everything that the registration of a sound protocol binds.
///
/// What this version cannot enforce is bound all the same, so the text does not depend on it.
pub(super) fn explain(args: &Explain) -> Result<Reply, Failure> {
    let loaded = ProtocolFile::read(&args.file)?;
    loaded.play()?;
    let checked = &loaded.checked;
    let markdown = explain::explain(&checked.registration, &checked.tasks);
    let json = json!({
        "study": loaded.id(),
        "registration": checked.registration.digest(),
        "markdown": markdown,
        "unenforced": loaded.unenforced(),
    });
    Ok(Reply::done(markdown, json))
}
