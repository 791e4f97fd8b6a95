//! A path or a value as an order spells it: as text where it is text, else as its bytes.

use std::ffi::{OsStr, OsString};
use std::fmt;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::Path;

use serde::de::{SeqAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// A path or a value of the system.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(in crate::runner) struct OsText(pub(in crate::runner) OsString);

impl OsText {
    pub(super) fn as_path(&self) -> &Path {
        Path::new(&self.0)
    }
}

impl<T: Into<OsString>> From<T> for OsText {
    fn from(text: T) -> Self {
        Self(text.into())
    }
}

impl Serialize for OsText {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.0.to_str() {
            Some(text) => serializer.serialize_str(text),
            None => serializer.collect_seq(OsStr::as_bytes(&self.0)),
        }
    }
}

impl<'de> Deserialize<'de> for OsText {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Spelled)
    }
}

struct Spelled;

impl<'de> Visitor<'de> for Spelled {
    type Value = OsText;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("text or bytes")
    }

    fn visit_str<E>(self, text: &str) -> Result<OsText, E> {
        Ok(text.into())
    }

    fn visit_string<E>(self, text: String) -> Result<OsText, E> {
        Ok(text.into())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut sequence: A) -> Result<OsText, A::Error> {
        let mut bytes = Vec::new();
        while let Some(byte) = sequence.next_element()? {
            bytes.push(byte);
        }
        Ok(OsString::from_vec(bytes).into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whatever_the_system_has_comes_back() {
        for bytes in [
            &b"/a b"[..],
            b"",
            b"\"\\\n\0",
            "/\u{e9}".as_bytes(),
            b"/\xff\x80",
        ] {
            let text = OsText(OsString::from_vec(bytes.to_vec()));
            let spelled = serde_json::to_vec(&text).unwrap();
            assert_eq!(serde_json::from_slice::<OsText>(&spelled).unwrap(), text);
        }
        assert_eq!(
            serde_json::to_string(&OsText::from("/a")).unwrap(),
            "\"/a\""
        );
    }
}
