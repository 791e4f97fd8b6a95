//! Everything that touches the world: processes and the study's files.

pub mod process;
pub mod tree;
