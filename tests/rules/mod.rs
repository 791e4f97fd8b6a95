//! The rules that have known answers, each answered by the code that the product runs.

mod actors;
mod attempts;
mod blocks;
mod budgets;
mod causes;
mod history;
mod limits;
mod manager;
mod passes;
mod plan;
mod quota;
mod readiness;
mod reconcile;
mod shapes;
mod shipped;
mod terminal;
mod times;
mod transitions;

use serde_json::Value;

/// Answers one case of a rule.
pub(crate) type Answer = fn(&Value) -> Value;

/// Every rule that is covered, by the name of its file.
pub(crate) const ALL: &[(&str, Answer)] = &[
    ("actor_shape", actors::actor_shape),
    ("allocate_attempt", attempts::allocate_attempt),
    ("arm_order", plan::arm_order),
    ("backoff_seconds", limits::backoff_seconds),
    ("block_fits", limits::block_fits),
    ("block_status", blocks::block_status),
    ("budget_allows", budgets::budget_allows),
    ("build_blocks", plan::build_blocks),
    ("cancel", manager::cancel),
    ("compare_pins", readiness::compare_pins),
    ("completed_trial_ids", blocks::completed_trial_ids),
    ("corrections_budget", budgets::corrections_budget),
    ("counted_runs", history::counted_runs),
    ("first_arm_index", plan::first_arm_index),
    ("flag_incomplete", blocks::flag_incomplete),
    ("gate_decision", quota::gate_decision),
    ("guarded_transition", transitions::guarded_transition),
    ("id_format", shapes::id_format),
    ("is_outage_hour", history::is_outage_hour),
    ("latest_known_quota", quota::latest_known_quota),
    ("launch_gate", quota::launch_gate),
    ("launch_guard", manager::launch_guard),
    ("ledger_cumulative", budgets::ledger_cumulative),
    ("next_slot", history::next_slot),
    ("order_refusal", history::order_refusal),
    ("order_tasks", plan::order_tasks),
    ("overall_preflight", readiness::overall_preflight),
    ("parse_utc", times::parse_utc),
    ("past_cutoff", limits::past_cutoff),
    ("phase2_allowed", blocks::phase2_allowed),
    ("preflight_counts", readiness::preflight_counts),
    ("priority_key", plan::priority_key),
    ("probe_seed", plan::probe_seed),
    ("publish_terminal", attempts::publish_terminal),
    ("quota_gate", quota::quota_gate),
    ("read_tail", manager::read_tail),
    ("reconcile_attempt", reconcile::reconcile_attempt),
    ("resume", manager::resume),
    ("run_passes", passes::run_passes),
    ("slot_at", history::slot_at),
    ("slot_enumeration", plan::slot_enumeration),
    ("slots_done", history::slots_done),
    ("start_history", history::start_history),
    ("state_for_reason", causes::state_for_reason),
    ("terminal_coherence", terminal::terminal_coherence),
    ("terminal_record", terminal::terminal_record),
    ("wait_seconds", limits::wait_seconds),
];
