//! prereg runs pre-registered comparisons: the rules come first, the results after, and anybody can
//! derive every decision again.
//!
//! # Rooms
//!
//! Imports go downwards only; a test reads the source and holds it to that.
//!
//! | Room | One sentence | Pure |
//! | --- | --- | --- |
//! | [`cli`] | The only room that prints, parses arguments and chooses exit codes. | no |
//! | [`folder`] | The study's files, as the checker asks for them. | no |
//! | [`runner`] | The only room that starts processes and reads the wall clock. | no |
//! | [`store`] | The only room that speaks SQL: one transaction a batch of commands. | no |
//! | [`report`] | Counts what the runs of a study say, and says its plan in plain English. | yes |
//! | [`record`] | Seals commands and rulings into chained entries, and derives them again. | yes |
//! | [`engine`] | Answers a command about a slice with events or a refusal, and applies events. | yes |
//! | [`analysis`] | Computes the registered answer from one value a task and arm; the room of floats. | yes |
//! | [`protocol`] | Turns text into a protocol that cannot be wrong, or into all its defects. | yes |
//! | [`units`] | Digests, times, durations, sizes, shares: exact quantities. | yes |
//!
//! # How data flows
//!
//! ```text
//! text ──check──▶ Registration { protocol, frame, files }      Vec<Defect>
//! Command ──decide(rules, slice)──▶ Vec<Event> | Refusal       recorded either way
//! Event ──evolve──▶ Slice { standing, runs, lanes }            the only fold of what decides
//! Event ──totals(rules)──▶ facts that are counted for people   beside it; a decision reads one: how many slots
//!                                                              of a look's tasks have ended
//! Entry { seq, digest, body: command + ruling, opening }       chained; sealed values are commitments
//! ```
//!
//! A write is one transaction: load what the commands need, decide, append, fold, commit. The rows
//! that follow from the entries may be saved later; nothing is acted on before its entry is on the
//! disk, least of all a start. `verify` streams the entries, decides each command again, and compares:
//! entries are read and checked by themselves on other threads, what is not under way lies in a file.
//!
//! A run is executed by a supervisor, a process of its own that outlives the session: it has its order
//! only after the start is on the disk, and leaves a receipt when nothing of the run is left
//! ([`runner::supervisor`]). The next session finds it, waits for it, or reads the receipt.
//!
//! # What is never done
//!
//! - The pure rooms know no clock, file, process, database or random source: time, random bytes and
//!   files arrive as arguments.
//! - Nothing that is on the record is edited or deleted; the first outcome of a run stands.
//! - `evolve` takes no protocol: events carry what it needs, so an old record folds for ever.
//! - A decision never looks at an outcome. Of what a run was scored from, [`engine::decide`] reads a
//!   digest, to tell the same report from another.
//! - A command that says what is known already, and a look at what comes next, are not recorded.
//! - No registered key has a default in code that can change: the resolved protocol is what is hashed.
//!
//! # Departures from the first sketch
//!
//! - Order by plan is kept by *lanes*: slots that follow one another ([`protocol::plan`]). Whatever
//!   nest, block and serial say, the next start is the earliest lane that may start, one look-up.
//! - A run's number is its start number. Controls are runs without a place in the plan.
//! - Totals are not folded by `evolve`: which attempt speaks for a slot is the protocol's to say, so they
//!   are moved on beside it ([`engine::totals`]), and catching up with entries takes the rules.
//! - The tasks of a closed frame are rows that a slice is asked for ([`engine::frame`]); only an order by
//!   the tasks' names needs them all.
//! - What is sealed is not in an entry's body but committed to there; one opening lies beside it.

pub mod analysis;
pub mod cli;
pub mod engine;
pub mod folder;
pub mod protocol;
pub mod record;
pub mod report;
pub mod runner;
pub mod store;
pub mod units;
