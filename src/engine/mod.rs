//! Answers a command about a slice of the record with events or a refusal, and applies events.
//!
//! Three pure functions over plain data; no clock, file, process, database or random source:
//!
//! - [`decide`](decide::decide) answers it: events, or a refusal that changes nothing,
//! - [`evolve`](evolve::evolve) applies an event, and is the only fold there is,
//! - [`peek`](start::peek) says what may start next, and is never recorded.
//!
//! A decision costs look-ups, never history: the slice holds the standing, which is bounded by
//! the protocol, and the few runs and lanes that the command touches.
//!
//! What is asked for is answered in `start` (runs), `ending` (endings, scores, closings) and `hands`
//! (what people report). The guards of a start stand in `guards`, the orders in `lanes` (by plan) and `counts`, voids in
//! `outage`, growing studies in `tasks`, what is spent in `spending`, how long blocks took in
//! `durations`, how far they have come in `blocks`, what all that amounts to in `totals` (whose sums
//! are `exact`), scheduled looks in `looks`, where the tasks are in `frame`; `observation` reads an arm's own output,
//! and `reads` is what expressions are given of a run.
//!
//! The rules that need no slice stand by themselves: who may write (`actors`), what follows an attempt
//! (`attempts`), how long to wait (`backoff`), what may be spent (`budget`), when readings let starts
//! through (`conditions`, of an arm or a stage by what is kept `apart`), whether a block ends in time (`fits`), what preflights (`preflight`) and
//! probes (`probes`) say, which settings an arm used
//! (`settings`), whether required evidence coheres
//! (`evidence`), and which files are kept of a run (`artefacts`).
//!
//! A protocol is sound if it passed its check and what its rules can lead to: [`modelcheck`] plays
//! it, and [`sound`] tells what was found as defects.

pub mod actors;
pub mod apart;
pub mod artefacts;
pub mod attempts;
pub mod away;
pub mod backoff;
pub mod blocks;
pub mod budget;
pub mod command;
pub mod conditions;
pub mod counts;
pub mod decide;
pub mod durations;
pub mod ending;
pub mod event;
pub mod evidence;
pub mod evolve;
pub mod exact;
pub mod facts;
pub mod fits;
pub mod frame;
pub mod guards;
mod hands;
mod lanes;
pub mod looks;
pub mod modelcheck;
pub mod observation;
pub mod outage;
pub mod preflight;
pub mod probes;
mod reads;
pub mod refusal;
pub mod rehearsal;
pub mod rules;
pub mod scoring;
pub mod settings;
pub mod slice;
pub mod sound;
mod spending;
pub mod start;
mod tasks;
pub mod totals;
