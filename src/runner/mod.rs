//! The only room that starts processes and reads the wall clock.
//!
//! - `session`: workers that start, execute, judge and record until nothing is left to start;
//! - `git`: a commit as a workspace;
//! - `cleaning`: what is executed after a run;
//! - `recovery`: what an earlier session has left, found and recorded;
//! - `dispatcher`: where they come to between two runs;
//! - `executor`: what is done for one run, from its workspace to its evidence;
//! - `supervisor`: one a run, which outlives its session; what it holds an arm together by;
//! - `process`: one command, watched, in its own process group; `tree`: files that arms may have touched;
//! - `kept`: what is kept of what runs printed, held to the record; `tail`: its end, to be shown;
//! - `programs`: the look at a study's programs before anything starts;
//! - `world`: looks at the world for the rules;
//! - `children`: who is being executed, for the session after one that was killed;
//! - `signing`: the programs that sign a published line and check who stamped one;
//! - `clock`, `signals`, `switch`: the wall clock, and the operator's hand.

pub mod artefacts;
pub mod children;
mod cleaning;
pub mod clock;
mod dispatcher;
pub mod executor;
pub mod git;
pub mod kept;
pub mod process;
mod processors;
pub mod programs;
pub mod recovery;
pub mod session;
pub mod signals;
pub mod signing;
pub mod supervisor;
pub mod switch;
pub mod tail;
pub mod tree;
pub mod world;
