//! Seals commands and rulings into chained entries, and derives every ruling again.
//!
//! An entry is a body and a digest. The body is the canonical JSON of a command and its ruling;
//! the digest covers the body, its place and the digest before it, so that nothing between two
//! heads can change unseen. What is sealed stands in the body as salted commitments; its opening
//! (salt and values) is kept beside the entry and left out of an export while outcomes are sealed.
//!
//! - `entry`: bodies, digests, commitments;
//! - `export`: entries as lines of text; `statement`, `prml`: the registration in the forms of others;
//! - `unshown`: what no record can show;
//! - `version`: whether what a writer saw still stands;
//! - `anchor`: heads that were published, and what shows it;
//! - `reading`: what of an entry can be checked by itself; `asked`: what is plainly spelled there;
//! - `audit`: the chain checked and every ruling decided again; `shelf`: so that it holds few rows;
//! - `receipt`: what the end of a run must show; `divergence`: what an audit can find.

pub mod anchor;
mod asked;
pub mod audit;
pub mod divergence;
pub mod entry;
pub mod export;
pub mod prml;
pub mod reading;
pub mod receipt;
pub mod shelf;
pub mod statement;
pub mod unshown;
pub mod version;
