//! `doctor`: what this machine can do for a run, and what it cannot, each tried.

use serde_json::{Value, json};

use super::reply::{Failure, Reply};
use crate::runner::supervisor::{ALL, Supervisors, Tiers, word};
use crate::runner::tree;

/// Says which tiers of containment work here, and why the others do not.
pub(super) fn doctor() -> Result<Reply, Failure> {
    let supervisors = Supervisors::start();
    let tried = ALL.map(|tier| (tier, Tiers::of(tier, &supervisors)));
    supervisors.await_end();
    let best = tried.iter().find(|(_, works)| works.is_ok());
    let best = best.map(|(tier, _)| *tier);
    let mut text = String::new();
    for (i, (tier, works)) in tried.iter().enumerate() {
        let head = if i == 0 { "containment" } else { "" };
        let says = match works {
            Ok(_) if Some(*tier) == best => "works; `run` uses it".to_owned(),
            Ok(_) => "works".to_owned(),
            Err(why) => format!("does not: {why}"),
        };
        text.push_str(&format!("{head:<11} {:<13} {says}\n", word(*tier)));
    }
    let free = tree::free_space(std::path::Path::new("."));
    let says = match free {
        Ok(bytes) => format!("{bytes} free in this folder"),
        Err(ref error) => format!("not known: {error}"),
    };
    text.push_str(&format!("space       {says}\n"));
    let tiers = tried.iter().map(|(tier, works)| {
        json!({ "tier": tier, "works": works.is_ok(), "why": works.as_ref().err() })
    });
    let tiers: Vec<Value> = tiers.collect();
    let json = json!({ "containment": best, "tiers": tiers, "free": free.ok() });
    Ok(Reply::done(text, json))
}
