//! What people bring: tables of runs, slots of tasks, paired numbers, and all that is wrong with them.

pub mod defect;
pub mod direct;
pub mod given;
pub mod table;
