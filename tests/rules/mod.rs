//! The rules that have known answers, each answered by the code that the product runs.

mod actors;
mod budgets;
mod causes;
mod limits;
mod plan;
mod readiness;
mod shipped;
mod times;

use serde_json::Value;

/// Answers one case of a rule.
pub(crate) type Answer = fn(&Value) -> Value;

/// Every rule that is covered, by the name of its file.
pub(crate) const ALL: &[(&str, Answer)] = &[
    ("actor_shape", actors::actor_shape),
    ("arm_order", plan::arm_order),
    ("backoff_seconds", limits::backoff_seconds),
    ("block_fits", limits::block_fits),
    ("budget_allows", budgets::budget_allows),
    ("build_blocks", plan::build_blocks),
    ("compare_pins", readiness::compare_pins),
    ("corrections_budget", budgets::corrections_budget),
    ("first_arm_index", plan::first_arm_index),
    ("ledger_cumulative", budgets::ledger_cumulative),
    ("order_tasks", plan::order_tasks),
    ("overall_preflight", readiness::overall_preflight),
    ("parse_utc", times::parse_utc),
    ("past_cutoff", limits::past_cutoff),
    ("preflight_counts", readiness::preflight_counts),
    ("priority_key", plan::priority_key),
    ("probe_seed", plan::probe_seed),
    ("slot_enumeration", plan::slot_enumeration),
    ("state_for_reason", causes::state_for_reason),
    ("wait_seconds", limits::wait_seconds),
];
