//! All ways to draw as many units as there are, with replacement.

/// With more units than this, their draws are too many to be listed.
pub(super) const UNITS_ENUMERATED_MAX: usize = 9;

/// Visits each multiset of `units` draws from as many units: how often each unit is drawn, and how many of the
/// draws in order give it.
pub(super) fn multisets(units: usize, mut visit: impl FnMut(&[u32], u64)) {
    let mut times = vec![0; units];
    extend(&mut times, 0, units as u64, 1, &mut visit);
}

/// Draws the unit at `place` 0 to `left` times and those after it as often as is left.
fn extend(
    times: &mut [u32],
    place: usize,
    left: u64,
    ways: u64,
    visit: &mut impl FnMut(&[u32], u64),
) {
    let is_last = place + 1 == times.len();
    let mut places = 1; // C(left, drawn)
    for drawn in 0..=left {
        if let Some(times) = times.get_mut(place) {
            *times = drawn as u32;
        }
        match is_last {
            true if drawn == left => visit(times, ways),
            true => {}
            false => extend(times, place + 1, left - drawn, ways * places, visit),
        }
        places = places * (left - drawn) / (drawn + 1);
    }
}
