//! Results under keys that only the inputs say: a margin, a price, a number of repeats.

use std::collections::BTreeSet;

use serde::{Serialize, Serializer};

/// Values under keys, in the order given; serialises to a map.
#[derive(Clone, Debug, PartialEq)]
pub struct Keyed<T>(pub Vec<(String, T)>);

impl<T> FromIterator<(String, T)> for Keyed<T> {
    /// Takes the first value of each key.
    fn from_iter<I: IntoIterator<Item = (String, T)>>(pairs: I) -> Self {
        let mut seen = BTreeSet::new();
        Self(
            pairs
                .into_iter()
                .filter(|(key, _)| seen.insert(key.clone()))
                .collect(),
        )
    }
}

impl<T: Serialize> Serialize for Keyed<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().map(|(key, value)| (key, value)))
    }
}
