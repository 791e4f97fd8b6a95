//! From runs to one value per task and arm, and the flow that adds up.

pub mod binary;
pub mod comparison;
pub mod flow;
pub mod numbers;
