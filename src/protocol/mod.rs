//! Turns text into a protocol that cannot be wrong, or into all its defects.

pub mod canonical;
pub mod check;
pub mod classes;
pub mod defect;
pub mod draft;
pub mod expression;
pub mod folder;
pub mod frame;
pub mod manual;
pub mod model;
mod order;
pub mod pattern;
pub mod plan;
pub mod registration;
pub mod shape;
pub mod source;
pub mod template;
