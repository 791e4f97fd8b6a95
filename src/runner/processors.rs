//! How many processors this machine has.

/// Where Linux lists those that it uses, as `0-3,8`.
const ONLINE: &str = "/sys/devices/system/cpu/online";

/// Returns how many processors are in use here; of a machine that does not tell, how many this process
/// may use.
pub(super) fn processors() -> Option<u32> {
    let listed = std::fs::read_to_string(ONLINE).ok();
    let listed = listed.as_deref().and_then(count);
    let own = || std::thread::available_parallelism().ok();
    listed.or_else(|| u32::try_from(own()?.get()).ok())
}

/// Counts a list of ranges.
fn count(list: &str) -> Option<u32> {
    let ranges = list.trim().split(',').map(|range| {
        let (first, last) = range.split_once('-').unwrap_or((range, range));
        let (first, last): (u32, u32) = (first.parse().ok()?, last.parse().ok()?);
        last.checked_sub(first)?.checked_add(1)
    });
    ranges.sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_are_counted() {
        for (list, counted) in [
            ("0\n", Some(1)),
            ("0-3\n", Some(4)),
            ("0-1,4,8-9\n", Some(5)),
            ("", None),
            ("3-1", None),
        ] {
            assert_eq!(count(list), counted, "{list:?}");
        }
        assert!(processors().is_some_and(|found| found > 0));
    }
}
