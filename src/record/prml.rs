//! The registered primary comparison as a manifest of PRML 0.1, in its canonical bytes.
//!
//! PRML binds one claim: a metric, a comparator and a threshold, over a data set, by the SHA-256 of a
//! subset of YAML. Here the metric is the p-value of the primary comparison of one treatment, which must
//! not exceed the registered alpha. All texts are ours or identifiers, but the name of whoever registered.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use regex::Regex;
use serde::Serialize;
use serde_json::Value;
use unicode_normalization::is_nfc;

use crate::protocol::model::{Analysis, Protocol};
use crate::units::{Digest, Share, Time};

/// The version of the format.
const VERSION: &str = "prml/0.1";
/// How many decimals of a share are written out before they are rounded to a double.
const DECIMALS: usize = 60;
/// The longest run of digits that is written without an exponent, and how far below 1 a double may lie.
const PLAIN: std::ops::Range<i32> = -4..16;

/// What a manifest is made from.
#[derive(Clone, Copy, Debug)]
pub struct Registered<'a> {
    /// The resolved protocol.
    pub protocol: &'a Protocol,
    /// Its analysis.
    pub analysis: &'a Analysis,
    /// The digest of the registration.
    pub digest: Digest,
    /// The digest of the tasks.
    pub frame: Digest,
    /// When it was registered.
    pub at: Time,
    /// By whom.
    pub actor: &'a str,
}

/// A value of a manifest.
#[derive(Clone, Debug, PartialEq)]
enum Node {
    Text(String),
    Whole(u64),
    Double(f64),
    Map(BTreeMap<&'static str, Node>),
}

impl From<&str> for Node {
    fn from(text: &str) -> Self {
        Self::Text(text.to_owned())
    }
}

impl From<String> for Node {
    fn from(text: String) -> Self {
        Self::Text(text)
    }
}

/// Returns the canonical bytes of the manifest for a treatment; its hash is their SHA-256.
///
/// Refuses a name of whoever registered that has no canonical form.
pub fn manifest(registered: &Registered<'_>, treatment: &str) -> Result<String, String> {
    if !is_portable(registered.actor) {
        return Err(
            "who registered has a name with characters that a PRML manifest must not hold"
                .to_owned(),
        );
    }
    let study = registered.protocol.study.id.as_str();
    let dataset = BTreeMap::from([
        ("id", format!("{study}/frame").into()),
        ("hash", registered.frame.to_string().into()),
    ]);
    let (seed, seed_from) = seed(registered);
    let manifest = BTreeMap::from([
        ("version", VERSION.into()),
        ("claim_id", claim_id(registered, treatment).into()),
        ("created_at", registered.at.to_string().into()),
        ("metric", "p_value".into()),
        (
            "metric_args",
            Node::Map(arguments(registered, treatment, seed_from)),
        ),
        ("comparator", "<=".into()),
        ("threshold", Node::Double(double(registered.analysis.alpha))),
        ("dataset", Node::Map(dataset)),
        ("seed", Node::Whole(seed)),
        (
            "producer",
            Node::Map(BTreeMap::from([("id", registered.actor.into())])),
        ),
    ]);
    let mut text = String::new();
    write_map(&mut text, &manifest, 0);
    Ok(text)
}

/// Returns what is compared and how, and what binds the rest.
fn arguments(
    registered: &Registered<'_>,
    treatment: &str,
    seed_from: &'static str,
) -> BTreeMap<&'static str, Node> {
    let analysis = registered.analysis;
    let primary = &analysis.primary;
    let mut arguments = BTreeMap::from([
        ("registration", Node::from(registered.digest.to_string())),
        ("study", registered.protocol.study.id.as_str().into()),
        ("outcome", primary.outcome.as_str().into()),
        ("reference", analysis.reference.as_str().into()),
        ("treatment", treatment.into()),
        ("treatments", Node::Whole(analysis.treatments.len() as u64)),
        ("estimand", word(&primary.estimand).into()),
        ("effect", word(&primary.effect).into()),
        ("test", word(&primary.test).into()),
        ("alternative", word(&primary.alternative).into()),
        ("objective", word(&primary.objective).into()),
        ("seed_from", seed_from.into()),
    ]);
    let mut known = |name, said: Option<String>| {
        arguments.extend(said.map(|said| (name, Node::from(said))));
    };
    known("margin", primary.margin.map(|margin| margin.to_string()));
    let multiplicity = analysis.multiplicity.as_ref();
    known(
        "multiplicity",
        multiplicity.map(|shared| word(&shared.method)),
    );
    arguments
}

/// Returns a word of the language.
fn word(word: &impl Serialize) -> String {
    match serde_json::to_value(word) {
        Ok(Value::String(text)) => text,
        other => other.unwrap_or_default().to_string(),
    }
}

/// Returns the seed of the draw as a number, and what it was made from: the text itself where it is a
/// number, else its digest; the registration's where the draw has none.
fn seed(registered: &Registered<'_>) -> (u64, &'static str) {
    let text = registered.protocol.draw.seed.as_deref();
    let number = text
        .and_then(|text| text.parse::<u64>().ok())
        .filter(|number| text == Some(&number.to_string()));
    match (number, text) {
        (Some(number), _) => (number, "draw.seed"),
        (None, Some(text)) => (
            first_64(&Digest::of(&[text.as_bytes()])),
            "sha256(draw.seed)",
        ),
        (None, None) => (first_64(&registered.digest), "registration"),
    }
}

fn first_64(digest: &Digest) -> u64 {
    let [a, b, c, d, e, f, g, h, ..] = digest.0;
    u64::from_be_bytes([a, b, c, d, e, f, g, h])
}

/// Returns a UUID of version 7: the milliseconds of the registration, then bits of a digest of what is
/// registered and for which treatment.
fn claim_id(registered: &Registered<'_>, treatment: &str) -> String {
    let digest = Digest::of(&[
        b"prereg-claim/1\n",
        &registered.digest.0,
        treatment.as_bytes(),
    ]);
    let millis = u64::try_from(registered.at.0.div_euclid(1000)).unwrap_or_default();
    let mut bytes = [0; 16];
    bytes[..6].copy_from_slice(&millis.to_be_bytes()[2..]);
    bytes[6..].copy_from_slice(&digest.0[..10]);
    bytes[6] = 0x70 | (bytes[6] & 0x0f);
    bytes[8] = 0x80 | (bytes[8] & 0x3f);
    let hex = data_encoding::HEXLOWER.encode(&bytes);
    let parts = [
        &hex[..8],
        &hex[8..12],
        &hex[12..16],
        &hex[16..20],
        &hex[20..],
    ];
    parts.join("-")
}

/// Returns the double that is nearest to a share.
fn double(share: Share) -> f64 {
    let (num, den) = (u128::from(share.num), u128::from(share.den).max(1));
    let mut text = format!("{}.", num / den);
    let mut rest = num % den;
    for _ in 0..DECIMALS {
        rest *= 10;
        text.push_str(&(rest / den).to_string());
        rest %= den;
    }
    text.parse().unwrap_or_default()
}

fn write_map(text: &mut String, map: &BTreeMap<&'static str, Node>, depth: usize) {
    for (key, node) in map {
        text.push_str(&"  ".repeat(depth));
        text.push_str(&scalar(key));
        match node {
            Node::Map(map) => {
                text.push_str(":\n");
                write_map(text, map, depth + 1);
            }
            Node::Text(value) => text.push_str(&format!(": {}\n", scalar(value))),
            Node::Whole(number) => text.push_str(&format!(": {number}\n")),
            Node::Double(number) => text.push_str(&format!(": {}\n", spelled(*number))),
        }
    }
}

/// Returns the shortest digits that are read back as a double, in the format's spelling.
fn spelled(number: f64) -> String {
    let short = format!("{number:e}");
    let (mantissa, exponent) = short.split_once('e').unwrap_or((&short, "0"));
    let exponent = exponent.parse::<i32>().unwrap_or_default();
    if PLAIN.contains(&exponent) {
        return format!("{number:?}");
    }
    let point = if mantissa.contains('.') { "" } else { ".0" };
    let sign = if exponent < 0 { '-' } else { '+' };
    format!("{mantissa}{point}e{sign}{:02}", exponent.unsigned_abs())
}

/// Returns a text as a scalar: plain where nothing else could be read from it, else in single quotes.
fn scalar(text: &str) -> String {
    match is_plain(text) {
        true => text.to_owned(),
        false => format!("'{}'", text.replace('\'', "''")),
    }
}

fn is_plain(text: &str) -> bool {
    let mut characters = text.chars();
    let (first, second) = (characters.next(), characters.next());
    let Some(first) = first else {
        return false;
    };
    let begins = match first {
        '#' | ',' | '[' | ']' | '{' | '}' | '&' | '*' | '!' | '|' | '>' | '\'' | '"' | '%'
        | '@' | '`' | ' ' => false,
        '?' | ':' | '-' => !matches!(second, None | Some(' ')),
        _ => true,
    };
    let goes_on = !text.ends_with([' ', ':']) && !text.contains(": ") && !text.contains(" #");
    // Had the patterns no meaning, every text would stand in quotes.
    let resolves = RESOLVES.as_ref().is_none_or(|found| found.is_match(text));
    begins && goes_on && !resolves
}

/// Texts that YAML 1.1 reads as something else than a text.
static RESOLVES: LazyLock<Option<Regex>> = LazyLock::new(|| {
    let patterns = [
        "yes|Yes|YES|no|No|NO|true|True|TRUE|false|False|FALSE|on|On|ON|off|Off|OFF",
        r"[-+]?[0-9][0-9_]*\.[0-9_]*(?:[eE][-+][0-9]+)?|\.[0-9][0-9_]*(?:[eE][-+][0-9]+)?",
        r"[-+]?[0-9][0-9_]*(?::[0-5]?[0-9])+\.[0-9_]*|[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN)",
        "[-+]?0b[0-1_]+|[-+]?0[0-7_]+|[-+]?(?:0|[1-9][0-9_]*)|[-+]?0x[0-9a-fA-F_]+",
        "[-+]?[1-9][0-9_]*(?::[0-5]?[0-9])+|~|null|Null|NULL|<<|=|[!&*]",
        "[0-9]{4}-[0-9]{2}-[0-9]{2}",
        r"[0-9]{4}-[0-9]{1,2}-[0-9]{1,2}(?:[Tt]|[ \t]+)[0-9]{1,2}:[0-9]{2}:[0-9]{2}(?:\.[0-9]*)?(?:[ \t]*(?:Z|[-+][0-9]{1,2}(?::[0-9]{2})?))?",
    ];
    Regex::new(&format!("^(?:{})$", patterns.join("|"))).ok()
});

/// Returns whether a text has one canonical form: nothing unseen in it, and composed.
fn is_portable(text: &str) -> bool {
    let unseen = |c: char| {
        c.is_control()
            || matches!(
                c,
                '\u{2028}' | '\u{2029}' | '\u{feff}' | '\u{fffe}' | '\u{ffff}' | '\u{10ffff}'
            )
    };
    !text.is_empty() && !text.contains(unseen) && is_nfc(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn example(threshold: f64, seed: u64) -> String {
        let hash = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
        let dataset = BTreeMap::from([("id", "imagenet-val-2012".into()), ("hash", hash.into())]);
        let producer = BTreeMap::from([("id", "studio-11.co".into())]);
        let map = BTreeMap::from([
            ("version", VERSION.into()),
            ("claim_id", "01900000-0000-7000-8000-000000000000".into()),
            ("created_at", "2026-05-01T12:00:00Z".into()),
            ("metric", "accuracy".into()),
            ("comparator", ">=".into()),
            ("threshold", Node::Double(threshold)),
            ("dataset", Node::Map(dataset)),
            ("seed", Node::Whole(seed)),
            ("producer", Node::Map(producer)),
        ]);
        let mut text = String::new();
        write_map(&mut text, &map, 0);
        text
    }

    #[test]
    fn the_bytes_are_those_of_the_known_answers_of_the_format() {
        for (threshold, hash) in [
            (
                0.85,
                "1a3466cc08ee7fb60a726ea1c4db6ecf48a9f847b9b7523bfb54b2ffaefee546",
            ),
            (
                0.86,
                "b96b5b8d613e29d8c28c1cf91c03821b02224c41188c6128743fa2d55639d4bb",
            ),
        ] {
            let text = example(threshold, 42);
            assert_eq!(Digest::of(&[text.as_bytes()]).to_string(), hash, "{text}");
        }
        let largest = example(0.5, u64::MAX);
        assert!(
            largest.contains("\nseed: 18446744073709551615\n"),
            "{largest}"
        );
    }

    #[test]
    fn a_text_is_plain_unless_something_else_could_be_read_from_it() {
        let plain = "?x :x -x y N 1e5 12e3 0o17 =x == <= prml/0.1 user:operator pass@1 x#y \
                     deadbeef üniversite.edu.tr";
        for plain in plain.split(' ').chain(["a b"]) {
            assert_eq!(scalar(plain), plain);
        }
        let quoted = "- ? << = 1:30 1_000 0b101 017 .5 5. 2026-05-01 2026-05-01T12:00:00Z yes \
                      null ~ >= > @x a: -1 0x1f 1.5e+3 .inf %x `x";
        for quoted in quoted.split(' ').chain(["", "a: b", "a #b", " a", "a "]) {
            assert_eq!(scalar(quoted), format!("'{quoted}'"));
        }
        assert_eq!(scalar("'it's"), "'''it''s'");
    }

    #[test]
    fn a_double_has_one_spelling() {
        for (number, text) in [
            (1.0, "1.0"),
            (90.0, "90.0"),
            (0.05, "0.05"),
            (0.0001, "0.0001"),
            (0.00001, "1.0e-05"),
            (1.5e-7, "1.5e-07"),
            (1e15, "1000000000000000.0"),
            (1e16, "1.0e+16"),
            (5e-324, "5.0e-324"),
            (0.0, "0.0"),
        ] {
            assert_eq!(spelled(number), text);
        }
        for (num, den, text) in [
            (1, 20, "0.05"),
            (1, 3, "0.3333333333333333"),
            (1, 1, "1.0"),
            (1, 1_000_000, "1.0e-06"),
            (
                9_007_199_254_740_990,
                9_007_199_254_740_991,
                "0.9999999999999999",
            ),
        ] {
            assert_eq!(spelled(double(Share { num, den })), text);
        }
    }

    #[test]
    fn a_name_has_one_form_or_none() {
        for (name, portable) in [
            ("user:operator", true),
            ("André", true),
            ("Andre\u{301}", false),
            ("a\u{7f}", false),
            ("a\nb", false),
            ("\u{feff}a", false),
            ("", false),
        ] {
            assert_eq!(is_portable(name), portable, "{name:?}");
        }
    }
}
