//! What people did by hand, in full: deviations, voided blocks, looks behind the seal.

use serde_json::{Value, json};

use super::reply::Failure;
use super::results::counted;
use crate::engine::facts::{FactKey, FactKind, Said};
use crate::engine::slice::Standing;
use crate::store::Store;

/// What was done by hand or by an outage, each list in order.
pub(super) struct ByHand {
    deviations: Vec<(FactKey, Said)>,
    voids: Vec<(FactKey, Said)>,
    unblindings: Vec<(FactKey, Said)>,
}

impl ByHand {
    /// Reads it from a record.
    pub(super) fn of(store: &mut Store) -> Result<Self, Failure> {
        Ok(Self {
            deviations: store.said(FactKind::Deviation)?,
            voids: store.said(FactKind::Void)?,
            unblindings: store.said(FactKind::Unblinding)?,
        })
    }

    /// Says it for people, with how many commands were refused.
    pub(super) fn text(&self, standing: &Standing) -> String {
        let mut text = String::new();
        for (_, said) in &self.deviations {
            text.push_str(&format!("  deviated  {}\n", told(said)));
        }
        for (key, said) in &self.voids {
            text.push_str(&format!(
                "  voided    block {}: {}\n",
                block(key),
                told(said)
            ));
        }
        if standing.unblinded > 0 {
            let times = counted(standing.unblinded, "time", "times");
            text.push_str(&format!("  unblinded {times} before the study had ended\n"));
        }
        for (_, said) in &self.unblindings {
            text.push_str(&format!("            {}\n", told(said)));
        }
        if standing.refusals > 0 {
            let times = counted(standing.refusals, "command", "commands");
            text.push_str(&format!("  refused   {times}; the export has each\n"));
        }
        text
    }

    /// Returns the notes as data.
    pub(super) fn deviations(&self) -> Value {
        let each = |(_, said): &(FactKey, Said)| json!({ "at": said.at, "actor": said.actor, "note": said.text });
        self.deviations.iter().map(each).collect()
    }

    /// Returns the voided blocks as data; blocks count from 1, as `plan` prints them.
    pub(super) fn voids(&self) -> Value {
        let each = |(key, said): &(FactKey, Said)| json!({ "block": block(key), "at": said.at, "actor": said.actor, "reason": said.text });
        self.voids.iter().map(each).collect()
    }

    /// Returns the looks behind the seal as data.
    pub(super) fn unblindings(&self) -> Value {
        let each = |(_, said): &(FactKey, Said)| json!({ "at": said.at, "actor": said.actor });
        self.unblindings.iter().map(each).collect()
    }
}

/// Says why the block of a run was voided.
pub(super) fn void_line(said: &Said) -> String {
    format!("  void      {}\n", told(said))
}

fn block(key: &FactKey) -> u64 {
    match key {
        FactKey::Void(block, _) => block + 1,
        _ => 0,
    }
}

/// Says when, who and why, on one line.
fn told(said: &Said) -> String {
    let who = match &said.actor {
        Some(actor) => one_line(actor),
        None => "by an outage".to_owned(),
    };
    let why = said.text.as_deref().map(one_line);
    let why = why.map_or(String::new(), |why| format!(": {why}"));
    format!("{} {who}{why}", said.at)
}

/// Writes a text so that it stays on its line and moves no cursor.
fn one_line(text: &str) -> String {
    let mut line = String::with_capacity(text.len());
    for character in text.chars() {
        match character.is_control() {
            true => line.extend(character.escape_default()),
            false => line.push(character),
        }
    }
    line
}
