//! The switch: a file whose text says whether anything may start.

use std::path::Path;

use super::tree;

/// The most bytes that are read of it; what is longer cannot be read.
const SWITCH_MAX: u64 = 64;

/// Reads what the switch beside a protocol says; nothing where that cannot be read.
///
/// The line break that editors and shells leave at the end is not part of it.
pub fn read(base: &Path, file: &str) -> Option<String> {
    let bytes = tree::read_regular(base, file, SWITCH_MAX).ok()??;
    let text = String::from_utf8(bytes).ok()?;
    Some(text.trim_end_matches(['\r', '\n']).to_owned())
}
