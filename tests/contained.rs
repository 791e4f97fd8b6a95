//! What a supervisor holds together: hostile shapes, endings and tiers, judged by a file that whoever is
//! left writes to.
//!
//! A sample runs always; `cargo test --test contained -- --ignored` runs them all.

#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a test that cannot go on fails where it stands, and says what it could not cover"
)]

mod common;
#[path = "contained/hold.rs"]
mod hold;
#[path = "contained/limits.rs"]
mod limits;
#[path = "contained/shapes.rs"]
mod shapes;
#[path = "contained/view.rs"]
mod view;
