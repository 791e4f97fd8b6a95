//! The rules that have known answers, each answered by the code that the product runs.

mod plan;
mod quota;
mod shipped;

use serde_json::Value;

/// Answers one case of a rule.
pub(crate) type Answer = fn(&Value) -> Value;

/// Every rule that is covered, by the name of its file.
pub(crate) const ALL: &[(&str, Answer)] = &[
    ("arm_order", plan::arm_order),
    ("build_blocks", plan::build_blocks),
    ("first_arm_index", plan::first_arm_index),
    ("gate_decision", quota::gate_decision),
    ("latest_known_quota", quota::latest_known_quota),
    ("launch_gate", quota::launch_gate),
    ("order_tasks", plan::order_tasks),
    ("priority_key", plan::priority_key),
    ("probe_seed", plan::probe_seed),
    ("quota_gate", quota::quota_gate),
    ("slot_enumeration", plan::slot_enumeration),
];
