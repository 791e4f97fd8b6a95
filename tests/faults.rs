//! Faults that are real: kills, failing calls, cuts of the power, each at many places.
//!
//! A sample runs always; `cargo test --test faults -- --ignored` runs them all.

#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a test that cannot go on fails where it stands, and says what it could not cover"
)]

mod common;
#[path = "faults/forked.rs"]
mod forked;
#[path = "faults/power.rs"]
mod power;
#[path = "faults/stage.rs"]
mod stage;
#[path = "faults/supervised.rs"]
mod supervised;
#[path = "faults/traced.rs"]
mod traced;
