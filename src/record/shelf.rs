//! A shelf for rows that are rarely looked at again, so that an audit holds few of them.
//!
//! A run that is closed, a lane whose slots have ended and a fact may still be asked for: by a late
//! outage, a void, a repeated report. Until then their bytes are enough, and where these lie is noted in the slice
//! (`away`), which asks for what it misses as any slice does that is partial.

use std::borrow::Cow;

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::engine::event::LaneId;
use crate::engine::facts::FactKey;
use crate::engine::slice::{Lane, Missing, Run, Slice};
use crate::units::RunId;

/// Something that keeps bytes.
pub trait Shelf {
    /// Why it could not.
    type Fault;

    /// Keeps the bytes that are written; returns their place.
    fn put(&mut self, write: impl FnOnce(&mut Vec<u8>)) -> Result<u64, Self::Fault>;

    /// Returns the bytes at a place.
    fn get(&mut self, place: u64) -> Result<Cow<'_, [u8]>, Self::Fault>;

    /// Says that what was kept is not what was put there.
    fn broken(message: String) -> Self::Fault;
}

/// Puts away every row that is not under way.
pub(super) fn put_away<S: Shelf>(slice: &mut Slice, shelf: &mut S) -> Result<(), S::Fault> {
    let Slice {
        runs,
        lanes,
        facts,
        away,
        ..
    } = slice;
    let is_closed =
        |_: &_, run: &mut Option<Box<Run>>| run.as_ref().is_some_and(|run| run.is_closed());
    for (id, run) in runs.extract_if(.., is_closed) {
        away.set_run(id, Some(put(shelf, &run)?));
    }
    let is_done = |_: &_, lane: &mut Option<Lane>| lane.as_ref().is_some_and(Lane::is_done);
    for (id, lane) in lanes.extract_if(.., is_done) {
        away.set_lane(id, Some(put(shelf, &lane)?));
    }
    for (key, fact) in std::mem::take(facts) {
        away.set_fact(key, Some(put(shelf, &fact)?));
    }
    Ok(())
}

/// Takes back what a question missed.
pub(super) fn take_back<S: Shelf>(
    slice: &mut Slice,
    missing: Missing,
    shelf: &mut S,
) -> Result<bool, S::Fault> {
    let mut found = false;
    for run in missing.runs {
        if let Some(place) = slice.away.run(run) {
            found = true;
            slice.runs.insert(run, Some(get(shelf, place)?));
            slice.away.set_run(run, None);
        }
    }
    for id in missing.lanes {
        if let Some(place) = slice.away.lane(id) {
            found = true;
            slice.hold_lane(id, get(shelf, place)?);
            slice.away.set_lane(id, None);
        }
    }
    for key in missing.facts {
        if let Some(place) = slice.away.fact(&key) {
            found = true;
            slice.facts.insert(key.clone(), Some(get(shelf, place)?));
            slice.away.set_fact(key, None);
        }
    }
    Ok(found)
}

/// Returns a run as it is kept, if there is such a run.
pub(super) fn run<'s, S: Shelf>(
    slice: &Slice,
    shelf: &'s mut S,
    run: RunId,
) -> Result<Option<Cow<'s, [u8]>>, S::Fault> {
    kept(slice.runs.get(&run), slice.away.run(run), shelf)
}

/// Returns a lane as it is kept, if it was ever opened.
pub(super) fn lane<'s, S: Shelf>(
    slice: &Slice,
    shelf: &'s mut S,
    id: LaneId,
) -> Result<Option<Cow<'s, [u8]>>, S::Fault> {
    kept(slice.lanes.get(&id), slice.away.lane(id), shelf)
}

/// Returns a fact as it is kept, if there is one.
pub(super) fn fact<'s, S: Shelf>(
    slice: &Slice,
    shelf: &'s mut S,
    key: &FactKey,
) -> Result<Option<Cow<'s, [u8]>>, S::Fault> {
    kept(slice.facts.get(key), slice.away.fact(key), shelf)
}

fn kept<'s, S: Shelf>(
    held: Option<&Option<impl Serialize>>,
    place: Option<u64>,
    shelf: &'s mut S,
) -> Result<Option<Cow<'s, [u8]>>, S::Fault> {
    match (held, place) {
        (Some(Some(row)), _) => {
            let mut bytes = Vec::new();
            write(row, &mut bytes);
            Ok(Some(Cow::Owned(bytes)))
        }
        (_, Some(place)) => shelf.get(place).map(Some),
        _ => Ok(None),
    }
}

fn put<S: Shelf>(shelf: &mut S, row: &impl Serialize) -> Result<u64, S::Fault> {
    shelf.put(|bytes| write(row, bytes))
}

/// Writes a row as it is kept, on a shelf as in a table.
fn write(row: &impl Serialize, bytes: &mut Vec<u8>) {
    // Plain data with text keys: this cannot fail.
    let _ = serde_json::to_writer(bytes, row);
}

fn get<S: Shelf, R: DeserializeOwned>(shelf: &mut S, place: u64) -> Result<R, S::Fault> {
    let bytes = shelf.get(place)?;
    serde_json::from_slice(&bytes).map_err(|error| S::broken(error.to_string()))
}
