//! `look`: takes a scheduled look that is due.

use serde_json::json;

use super::args::Look;
use super::reply::{Failure, Reply};
use super::study::{find_record, granted};
use crate::engine::command::Action;
use crate::engine::event::Event;
use crate::runner::clock;
use crate::store::{Fault, Request, Store, Writer};

/// Takes the look that is due; refuses where none is.
///
/// Of what was compared nothing is told but whether the study goes on: more would be one look too many.
pub(super) fn look(args: &Look) -> Result<Reply, Failure> {
    let mut store = Store::open(&find_record(args.named.said())?, clock::now)?;
    let (response, over) = store.write(|writer| {
        let response = writer.look()?;
        Ok((response, conclude(writer)?))
    })?;
    let response = granted(&store, response)?;
    let taken = response
        .ruling
        .iter()
        .flatten()
        .find_map(|event| match event {
            Event::Looked { look, stops } => Some((*look, *stops)),
            _ => None,
        });
    let (look, stops) = taken.unwrap_or_default();
    let text = match (stops, over) {
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

/// Ends the study if a rule has and no run is open; says whether that is so.
fn conclude(writer: &mut Writer<'_>) -> Result<bool, Fault> {
    let conclude = Action::Conclude {};
    let is_over = writer.foresee("engine", &conclude)?;
    if is_over.is_ok_and(|events| !events.is_empty()) {
        writer.apply(Request {
            actor: "engine".to_owned(),
            key: None,
            expects: None,
            action: conclude,
        })?;
    }
    Ok(writer.standing().has_ended())
}
