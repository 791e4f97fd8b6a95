//! What is described without a test: claims, controls, costs, repeats, times to success.

pub mod claims;
pub mod controls;
pub mod cost_effectiveness;
pub mod repeats;
pub mod time_to_success;
