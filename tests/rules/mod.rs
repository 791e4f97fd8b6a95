//! The rules that have known answers, each answered by the code that the product runs.

mod plan;
mod shipped;

use serde_json::Value;

/// Answers one case of a rule.
pub(crate) type Answer = fn(&Value) -> Value;

/// Every rule that is covered, by the name of its file.
pub(crate) const ALL: &[(&str, Answer)] = &[
    ("arm_order", plan::arm_order),
    ("build_blocks", plan::build_blocks),
    ("first_arm_index", plan::first_arm_index),
    ("order_tasks", plan::order_tasks),
    ("priority_key", plan::priority_key),
    ("probe_seed", plan::probe_seed),
    ("slot_enumeration", plan::slot_enumeration),
];
