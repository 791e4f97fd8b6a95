//! Answers a command about a slice of the record with events or a refusal, and applies events.
//!
//! Four pure functions over plain data; no clock, file, process, database or random source:
//!
//! - [`missing`](slice::Slice::missing) says what must be loaded before a command can be decided,
//! - [`decide`](decide::decide) answers it: events, or a refusal that changes nothing,
//! - [`evolve`](evolve::evolve) applies an event, and is the only fold there is,
//! - [`peek`](decide::peek) says what may start next, and is never recorded.
//!
//! A decision costs look-ups, never history: the slice holds the standing, which is bounded by
//! the protocol, and the few runs and lanes that the command touches.

pub mod command;
pub mod conditions;
pub mod decide;
pub mod event;
pub mod evolve;
pub mod guards;
pub mod refusal;
pub mod rules;
pub mod scoring;
pub mod slice;
