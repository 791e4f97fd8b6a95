//! Group sequential designs: looks at fractions of the draw that share one alpha.
//!
//! [`Spending`] says how much alpha a fraction may spend (Lan and DeMets 1983), [`boundaries`]
//! turns it into statistics that stop, [`operation`] into power and expected size;
//! [`sequential_looks`] holds the tasks closed so far against them. Boundaries are
//! symmetric and for efficacy only.

mod boundaries;
pub mod confidence_sequence;
pub mod evalue;
mod looks;
mod power;
mod spending;
mod walk;

pub use boundaries::{
    Boundaries, LOOK_GAP_MIN, LOOKS_MAX, SequentialDesign, Sided, UnderRun, boundaries,
};
pub use looks::{
    Differences, LookSummary, LookTest, SequentialLook, look_size, look_summaries, sequential_looks,
};
pub use power::{SequentialOperation, SpendingName, operation};
pub use spending::Spending;
