//! The `prereg` command.
fn main() {}
