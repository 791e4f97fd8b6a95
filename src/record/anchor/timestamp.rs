//! Time-stamps of RFC 3161: which digest they are of, and when. Whether an authority signed them is
//! not checked here, as that needs the authority's certificate.

use data_encoding::BASE64;
use der::asn1::{AnyRef, ObjectIdentifier};
use der::{Decode, Reader, SliceReader, Tag, TagNumber, Tagged};

use super::line::Published;
use crate::units::{Digest, Time};

/// `id-signedData`
const SIGNED_DATA: ObjectIdentifier = ObjectIdentifier::new_unwrap("1.2.840.113549.1.7.2");
/// `id-ct-TSTInfo`
const TST_INFO: ObjectIdentifier = ObjectIdentifier::new_unwrap("1.2.840.113549.1.9.16.1.4");
/// `id-sha256`
const SHA256: ObjectIdentifier = ObjectIdentifier::new_unwrap("2.16.840.1.101.3.4.2.1");
/// An explicit `[0]`.
const EXPLICIT_0: Tag = Tag::ContextSpecific {
    constructed: true,
    number: TagNumber(0),
};

/// A time-stamp.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Token {
    /// The digest that was stamped.
    pub imprint: Digest,
    /// When, as the authority says.
    pub time: Time,
    /// The token itself (`ContentInfo`), in DER.
    pub der: Vec<u8>,
}

impl Token {
    /// Reads a time-stamp token, or the response of an authority that holds one.
    pub fn read(bytes: &[u8]) -> Result<Self, String> {
        let unread = |error: der::Error| format!("the time-stamp cannot be read: {error}");
        let token = token_in(bytes).map_err(unread)?;
        let der = token.ok_or("the authority did not grant a time-stamp")?;
        let (imprint, time) = stamped(der).map_err(unread)?;
        Ok(Self {
            imprint: imprint.ok_or(
                "it is not a time-stamp of a SHA-256 digest; ask for one with `openssl ts -query -sha256`",
            )?,
            time: time.ok_or("the time of the time-stamp cannot be read")?,
            der: der.to_vec(),
        })
    }

    /// Refuses a line that is not the one that was stamped.
    pub fn must_stamp(&self, published: &Published) -> Result<(), String> {
        match self.imprint == imprint(published) {
            true => Ok(()),
            false => Err(format!(
                "the time-stamp is not one of `{published}` and a line feed"
            )),
        }
    }

    /// Returns the token in base64, as it is recorded.
    pub fn base64(&self) -> String {
        BASE64.encode(&self.der)
    }
}

/// Returns the digest by which a line is stamped.
pub fn imprint(published: &Published) -> Digest {
    Digest::of(&[published.message().as_bytes()])
}

/// Returns the bytes of the token: of `TimeStampResp`, or of the token that stands alone.
fn token_in(bytes: &[u8]) -> der::Result<Option<&[u8]>> {
    let mut outer = SliceReader::new(bytes)?;
    let mut parts = inside(&mut outer, Tag::Sequence)?;
    outer.finish()?;
    if Tag::peek(&parts)? == Tag::ObjectIdentifier {
        return Ok(Some(bytes));
    }
    let mut status = inside(&mut parts, Tag::Sequence)?;
    let granted = AnyRef::decode(&mut status)?;
    // `granted` or `grantedWithMods`.
    if !matches!(granted.value(), [0] | [1]) || parts.is_finished() {
        return Ok(None);
    }
    let token = parts.tlv_bytes()?;
    parts.finish()?;
    Ok(Some(token))
}

/// Returns what was stamped and when; nothing where it is something else.
fn stamped(token: &[u8]) -> der::Result<(Option<Digest>, Option<Time>)> {
    let nothing = Ok((None, None));
    let mut outer = SliceReader::new(token)?;
    let mut info = inside(&mut outer, Tag::Sequence)?;
    if ObjectIdentifier::decode(&mut info)? != SIGNED_DATA {
        return nothing;
    }
    let mut explicit = inside(&mut info, EXPLICIT_0)?;
    let mut signed = inside(&mut explicit, Tag::Sequence)?;
    inside(&mut signed, Tag::Integer)?;
    inside(&mut signed, Tag::Set)?;
    let mut content = inside(&mut signed, Tag::Sequence)?;
    if ObjectIdentifier::decode(&mut content)? != TST_INFO {
        return nothing;
    }
    let mut explicit = inside(&mut content, EXPLICIT_0)?;
    let mut octets = inside(&mut explicit, Tag::OctetString)?;
    let mut info = inside(&mut octets, Tag::Sequence)?;
    inside(&mut info, Tag::Integer)?;
    inside(&mut info, Tag::ObjectIdentifier)?;
    let mut imprint = inside(&mut info, Tag::Sequence)?;
    let mut algorithm = inside(&mut imprint, Tag::Sequence)?;
    let is_sha256 = ObjectIdentifier::decode(&mut algorithm)? == SHA256;
    let hashed = AnyRef::decode(&mut imprint)?.value();
    inside(&mut info, Tag::Integer)?;
    let time = AnyRef::decode(&mut info)?;
    time.tag().assert_eq(Tag::GeneralizedTime)?;
    let digest = <[u8; 32]>::try_from(hashed).ok().filter(|_| is_sha256);
    Ok((digest.map(Digest), moment(time.value())))
}

/// Reads what is inside the next element, which must have a tag.
fn inside<'a>(reader: &mut SliceReader<'a>, tag: Tag) -> der::Result<SliceReader<'a>> {
    let element = AnyRef::decode(reader)?;
    element.tag().assert_eq(tag)?;
    SliceReader::new(element.value())
}

/// Reads a time such as `20261224120000Z` or `20261224120000.25Z`.
fn moment(text: &[u8]) -> Option<Time> {
    let text = std::str::from_utf8(text).ok()?;
    let digits = text.get(..14)?;
    if !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let part = |from: usize, to: usize| &digits[from..to];
    format!(
        "{}-{}-{}T{}:{}:{}{}",
        part(0, 4),
        part(4, 6),
        part(6, 8),
        part(8, 10),
        part(10, 12),
        part(12, 14),
        &text[14..]
    )
    .parse()
    .ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_read_with_and_without_a_fraction() {
        let read = |text: &str| moment(text.as_bytes()).map(|time| time.precise());
        let whole = Some("2026-12-24T12:00:00.000000Z".to_owned());
        assert_eq!(read("20261224120000Z"), whole);
        let part = Some("2026-12-24T12:00:00.250000Z".to_owned());
        assert_eq!(read("20261224120000.25Z"), part);
        for text in ["", "20261224120000", "2026122412000Z", "20261324120000Z"] {
            assert_eq!(read(text), None, "{text}");
        }
    }

    #[test]
    fn what_is_no_time_stamp_is_refused() {
        for bytes in [
            &b""[..],
            b"0",
            b"0\x00",
            b"0\x80\x00\x00",
            &[0x30, 0x82, 0xff],
        ] {
            assert!(Token::read(bytes).is_err(), "{bytes:?}");
        }
    }
}
