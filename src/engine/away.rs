//! Where the rows lie that a slice has put away: a few bytes for each, by its number.

use std::collections::BTreeMap;

use super::event::LaneId;
use super::facts::FactKey;
use crate::units::RunId;

/// How many rows stand on a page.
const PAGE: u64 = 256;

/// The places of rows that are not held and can be taken back.
#[derive(Clone, Debug, Default)]
pub struct Away {
    runs: Pages,
    /// By draft, then by number.
    lanes: BTreeMap<u64, Pages>,
    facts: BTreeMap<FactKey, u64>,
}

impl Away {
    /// Returns where a run lies.
    pub fn run(&self, run: RunId) -> Option<u64> {
        self.runs.get(run.0)
    }

    /// Returns where a lane lies.
    pub fn lane(&self, id: LaneId) -> Option<u64> {
        self.lanes.get(&id.draft)?.get(id.number)
    }

    /// Returns where a fact lies.
    pub fn fact(&self, key: &FactKey) -> Option<u64> {
        self.facts.get(key).copied()
    }

    /// Notes where a run lies; nothing once it was taken back.
    pub fn set_run(&mut self, run: RunId, place: Option<u64>) {
        self.runs.set(run.0, place);
    }

    /// Notes where a lane lies; nothing once it was taken back.
    pub fn set_lane(&mut self, id: LaneId, place: Option<u64>) {
        self.lanes
            .entry(id.draft)
            .or_default()
            .set(id.number, place);
    }

    /// Notes where a fact lies; nothing once it was taken back.
    pub fn set_fact(&mut self, key: FactKey, place: Option<u64>) {
        match place {
            Some(place) => self.facts.insert(key, place),
            None => self.facts.remove(&key),
        };
    }

    /// Returns how many runs, lanes and facts are away.
    pub fn counts(&self) -> (usize, usize, usize) {
        let lanes = self.lanes.values().map(|pages| pages.count);
        (self.runs.count, lanes.sum(), self.facts.len())
    }
}

/// Places by number. Numbers that follow one another take eight bytes each.
#[derive(Clone, Debug, Default)]
struct Pages {
    /// One more than each place; 0 where there is none.
    pages: BTreeMap<u64, Vec<u64>>,
    count: usize,
}

impl Pages {
    fn get(&self, number: u64) -> Option<u64> {
        let page = self.pages.get(&(number / PAGE))?;
        page.get(slot(number))?.checked_sub(1)
    }

    fn set(&mut self, number: u64, place: Option<u64>) {
        let page = self.pages.entry(number / PAGE);
        let page = page.or_insert_with(|| vec![0; slot(PAGE - 1) + 1]);
        let Some(stands) = page.get_mut(slot(number)) else {
            return;
        };
        self.count -= usize::from(*stands > 0);
        self.count += usize::from(place.is_some());
        *stands = place.map_or(0, |place| place + 1);
    }
}

fn slot(number: u64) -> usize {
    // Less than a page has.
    usize::try_from(number % PAGE).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_found_by_number_until_they_are_taken_back() {
        let mut away = Away::default();
        let runs = [1, 255, 256, 1 << 52].map(RunId);
        for (place, run) in runs.into_iter().enumerate() {
            away.set_run(run, Some(place as u64));
            away.set_run(run, Some(place as u64));
        }
        assert_eq!(away.counts(), (4, 0, 0));
        for (place, run) in runs.into_iter().enumerate() {
            assert_eq!(away.run(run), Some(place as u64));
            away.set_run(run, None);
            assert_eq!(away.run(run), None);
        }
        assert_eq!(away.run(RunId(2)), None);
        assert_eq!(away.counts(), (0, 0, 0));
        let pilot = LaneId {
            draft: 2,
            number: 7,
        };
        away.set_lane(pilot, Some(0));
        assert_eq!(away.lane(pilot), Some(0));
        assert_eq!(away.lane(LaneId::registered(7)), None);
        assert_eq!(away.counts(), (0, 1, 0));
    }
}
