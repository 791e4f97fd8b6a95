//! Says a registration in plain English, as Markdown, in the order in which a reviewer asks.
//!
//! Every sentence is made from the resolved registration and from nothing else, so what is read and
//! what is executed cannot differ. Each section takes the tables that it says apart field by field:
//! a new word of the language does not compile until it is said.

mod analysis;
mod bound;
mod comparison;
mod conditions;
mod conduct;
mod controls;
mod exclusions;
mod execution;
mod guards;
mod limits;
mod order;
mod outcomes;
mod page;
mod sample;
mod scoring;
mod stopping;
mod study;
mod tasks;
mod words;

pub(super) use words::decimal;

use crate::protocol::frame::{self, Task};
use crate::protocol::registration::Registration;
use page::Page;

/// Says everything that a registration binds.
///
/// `tasks` are those of the frame whose digest it holds; an open frame has none yet.
pub fn explain(registration: &Registration, tasks: &[Task]) -> String {
    let protocol = &registration.protocol;
    let drawn = frame::draw(protocol, tasks);
    let mut page = Page::default();
    study::identity(&mut page, protocol);
    study::collected(&mut page, protocol, &drawn);
    study::question(&mut page, protocol);
    conditions::section(&mut page, protocol, &registration.files);
    tasks::section(&mut page, protocol, tasks);
    order::section(&mut page, protocol);
    outcomes::section(&mut page, protocol);
    analysis::section(&mut page, protocol);
    exclusions::section(&mut page, protocol);
    sample::section(&mut page, protocol, &drawn);
    analysis::secondary(&mut page, protocol);
    conduct::section(&mut page, protocol);
    bound::limitations(&mut page, protocol);
    bound::digests(&mut page, registration);
    page.into_text()
}
