//! Looking at a record, before and behind the seal.

use std::path::Path;

use super::args::Looks;
use super::reply::Failure;
use super::study::apply;
use crate::engine::command::Action;
use crate::engine::rules::Rules;
use crate::engine::slice::Standing;
use crate::runner::clock;
use crate::store::{Request, Store};

/// Opens a record to look at it; looking behind the seal is recorded first, where there is one.
pub(super) fn look(record: &Path, looks: &Looks) -> Result<Store, Failure> {
    let mut store = Store::read(record)?;
    if !looks.unblind || !is_sealed_now(&mut store)? {
        return Ok(store);
    }
    let mut store = Store::open(record, clock::now)?;
    apply(
        &mut store,
        Request {
            actor: looks.actor.clone(),
            key: None,
            expects: None,
            action: Action::Unblind {},
        },
    )?;
    Ok(store)
}

/// Returns whether outcomes by arm are sealed at present.
pub(super) fn is_sealed(rules: &Rules, standing: &Standing) -> bool {
    rules.protocol().sealed() && !standing.has_ended()
}

/// Returns whether the outcomes of a record are sealed at present; a record without a protocol has none.
pub(super) fn is_sealed_now(store: &mut Store) -> Result<bool, Failure> {
    let standing = store.standing()?;
    let rules = store.rules()?;
    Ok(rules.is_some_and(|rules| is_sealed(&rules, &standing)))
}
