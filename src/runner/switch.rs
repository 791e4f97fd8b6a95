//! The switch: a file whose text says whether anything may start.

use std::path::Path;

use super::tree::{self, TreeFault};
use crate::engine::command::Action;
use crate::protocol::model::Protocol;

/// The most bytes that are read of it; what is longer cannot be read.
const SWITCH_MAX: u64 = 64;

/// Looks at the switch, where the protocol has one.
pub fn look(protocol: &Protocol, base: &Path) -> Option<Action> {
    let text = read(base, protocol.switch.as_ref()?);
    Some(Action::Switch { text })
}

/// Reads what the switch beside a protocol says; nothing where that cannot be read.
///
/// The line break that editors and shells leave at the end is not part of it.
pub fn read(base: &Path, file: &str) -> Option<String> {
    let bytes = tree::read_regular(base, file, SWITCH_MAX).ok()??;
    let text = String::from_utf8(bytes).ok()?;
    Some(text.trim_end_matches(['\r', '\n']).to_owned())
}

/// Writes what the switch beside a protocol says: a fresh file in the place of whatever file, link or
/// pipe stands there.
pub fn write(base: &Path, file: &str, text: &str) -> Result<(), TreeFault> {
    tree::put(base, file, text.as_bytes())
}
