//! The only room that prints, parses arguments and chooses exit codes.

pub mod render;
