//! `look`: takes a scheduled look that is due.

use serde_json::json;

use super::args::Look;
use super::elsewhere::unchanged;
use super::reply::{Failure, Reply};
use super::study::{find_record, granted};
use crate::engine::event::Event;
use crate::runner::clock;
use crate::store::Store;

/// Takes the look that is due; refuses where none is.
///
/// Of what was compared nothing is told but whether the study goes on: more would be one look too many.
pub(super) fn look(args: &Look) -> Result<Reply, Failure> {
    let mut store = Store::open(&find_record(args.named.said())?, clock::now)?;
    let (response, over) = store.write(|writer| {
        let response = writer.look()?;
        Ok((response, writer.conclude()?))
    })?;
    let response = granted(&store, response)?;
    let Ok([Event::Looked { look, stops }, ..]) = response.ruling.as_deref() else {
        return Ok(unchanged());
    };
    let text = match (*stops, over) {
        (false, _) => format!("look        {look}: the study goes on\n"),
        (true, true) => format!(
            "look        {look}: the study has ended, as registered; `prereg analyze` says the answer\n"
        ),
        (true, false) => format!(
            "look        {look}: nothing more starts, as registered; `prereg run` ends the study once no run is open\n"
        ),
    };
    let json = json!({ "look": look, "stops": stops, "ended": over, "entry": response.seq });
    Ok(Reply::done(text, json))
}
