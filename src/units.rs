//! The exact quantities that everything else is made of: digests, times, durations, money, shares.
//!
//! Time is integer microseconds, money integer micro-dollars, a share a fraction of integers.
//! Each reads one spelling from the protocol file and one from JSON, and prints one back.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use sha2::{Digest as _, Sha256};

/// The largest integer that every reader of JSON holds exactly, and so the largest that is read.
pub const EXACT_MAX: u64 = (1 << 53) - 1;

/// A SHA-256 digest; 64 lower-case hex digits in text and JSON.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Digest(pub [u8; 32]);

impl Digest {
    /// Digests the concatenation of some byte strings.
    pub fn of(parts: &[&[u8]]) -> Self {
        let mut hasher = Sha256::new();
        for part in parts {
            hasher.update(part);
        }
        Self(hasher.finalize().into())
    }

    /// Returns the first and last four digits, for people.
    pub fn short(&self) -> String {
        let text = self.to_string();
        format!("{}…{}", &text[..4], &text[60..])
    }
}

impl fmt::Display for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&data_encoding::HEXLOWER.encode(&self.0))
    }
}

impl fmt::Debug for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl FromStr for Digest {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let mut bytes = [0; 32];
        let hex = data_encoding::HEXLOWER;
        match text.len() == 64 && hex.decode_mut(text.as_bytes(), &mut bytes).is_ok() {
            true => Ok(Self(bytes)),
            false => Err(format!(
                "`{text}` is not a digest of 64 lower-case hex digits"
            )),
        }
    }
}

impl Serialize for Digest {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut text = [0; 64];
        data_encoding::HEXLOWER.encode_mut(&self.0, &mut text);
        serializer.serialize_str(std::str::from_utf8(&text).unwrap_or_default())
    }
}

impl<'de> Deserialize<'de> for Digest {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_str(DigestVisitor)
    }
}

/// Reads a digest where it stands: a record has several an entry.
struct DigestVisitor;

impl serde::de::Visitor<'_> for DigestVisitor {
    type Value = Digest;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a string")
    }

    fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<Digest, E> {
        text.parse().map_err(E::custom)
    }
}

/// A moment: microseconds since 1970-01-01T00:00:00Z.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(transparent)]
pub struct Time(pub i64);

impl Time {
    /// Returns the moment that lies a duration later, or the last moment there is.
    pub fn plus(self, duration: Micros) -> Self {
        Self(self.0.saturating_add_unsigned(duration.0))
    }

    /// Returns RFC 3339 in UTC to the microsecond; such texts compare as their moments do.
    pub fn precise(self) -> String {
        let mut text = String::new();
        self.push_precise(&mut text);
        text
    }

    /// Appends RFC 3339 in UTC to the microsecond to a text.
    pub(crate) fn push_precise(self, text: &mut String) {
        if let Some(digits) = self.written_out() {
            return text.push_str(std::str::from_utf8(&digits).unwrap_or_default());
        }
        let beyond = if self.0 < 0 {
            jiff::Timestamp::MIN
        } else {
            jiff::Timestamp::MAX
        };
        let time = jiff::Timestamp::from_microsecond(self.0).unwrap_or(beyond);
        text.push_str(&format!("{time:.6}"));
    }

    /// Writes the years that have four digits; tables hold several times a row.
    fn written_out(self) -> Option<[u8; 27]> {
        const DAY: i64 = 86_400_000_000;
        let (day, rest) = (self.0.div_euclid(DAY), self.0.rem_euclid(DAY));
        // Years begin in March, so that the day that comes and goes is the last one; eras have 400 of them.
        let since_march = day + 719_468;
        let (era, of_era) = (
            since_march.div_euclid(146_097),
            since_march.rem_euclid(146_097),
        );
        let year_of_era = (of_era - of_era / 1_460 + of_era / 36_524 - of_era / 146_096) / 365;
        let of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
        let from_march = (5 * of_year + 2) / 153;
        let day = of_year - (153 * from_march + 2) / 5 + 1;
        let month = if from_march < 10 {
            from_march + 3
        } else {
            from_march - 9
        };
        let year = era * 400 + year_of_era + i64::from(month <= 2);
        if !(0..=9998).contains(&year) {
            return None;
        }
        let mut text = *b"0000-00-00T00:00:00.000000Z";
        for (at, width, number) in [
            (0, 4, year),
            (5, 2, month),
            (8, 2, day),
            (11, 2, rest / 3_600_000_000),
            (14, 2, rest / 60_000_000 % 60),
            (17, 2, rest / 1_000_000 % 60),
            (20, 6, rest % 1_000_000),
        ] {
            let mut number = number;
            for digit in text[at..at + width].iter_mut().rev() {
                *digit += u8::try_from(number % 10).unwrap_or_default();
                number /= 10;
            }
        }
        Some(text)
    }

    /// Returns RFC 3339 in UTC to the millisecond.
    pub fn millis(self) -> String {
        match jiff::Timestamp::from_microsecond(self.0) {
            Ok(time) => format!("{time:.3}"),
            Err(_) => self.to_string(),
        }
    }

    /// Reads a decimal number of seconds since 1970, rounded half-even to microseconds.
    pub fn from_seconds(decimal: &str) -> Option<Self> {
        let micros = millionths(decimal).filter(|micros| *micros >= 0)?;
        jiff::Timestamp::from_microsecond(micros).ok()?;
        Some(Self(micros))
    }
}

impl FromStr for Time {
    type Err = String;

    /// Reads RFC 3339, in UTC or with an offset. A leap second is no time.
    fn from_str(text: &str) -> Result<Self, String> {
        let leap_second = text.get(17..19) == Some("60");
        // A civil time reaches to the end of the year 9999; a time stamp ends some hours earlier.
        let micros = match text.strip_suffix('Z').filter(|local| is_spelled(local)) {
            Some(local) => local
                .parse::<jiff::civil::DateTime>()
                .ok()
                .and_then(|civil| {
                    let since = civil.duration_since(jiff::civil::date(1970, 1, 1).into());
                    i64::try_from(since.as_micros()).ok()
                }),
            None => {
                let offset = text.len().checked_sub("+00:00".len());
                let local = offset
                    .filter(|_| !text.ends_with('Z'))
                    .and_then(|at| text.get(..at));
                let stamp = local.filter(|local| is_spelled(local));
                let stamp = stamp.and_then(|_| text.parse::<jiff::Timestamp>().ok());
                stamp.map(jiff::Timestamp::as_microsecond)
            }
        };
        micros
            .filter(|_| !leap_second)
            .map(Self)
            .ok_or_else(|| format!("`{text}` is not a time such as \"2026-12-24T00:00:00Z\""))
    }
}

/// Returns whether a text has the form of a time without its zone.
fn is_spelled(local: &str) -> bool {
    const FORM: &[u8] = b"0000-00-00T00:00:00";
    let (whole, fraction) = local.split_once('.').unwrap_or((local, "0"));
    let mut pairs = whole.bytes().zip(FORM);
    let digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    whole.len() == FORM.len()
        && pairs.all(|(byte, form)| match form {
            b'0' => byte.is_ascii_digit(),
            mark => byte == *mark,
        })
        && (1..=6).contains(&fraction.len())
        && digits(fraction)
}

impl fmt::Display for Time {
    /// Writes RFC 3339 in UTC, to the second.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match jiff::Timestamp::from_second(self.0.div_euclid(1_000_000)) {
            Ok(time) => write!(f, "{time}"),
            Err(_) => write!(f, "{} us", self.0),
        }
    }
}

/// A duration in microseconds.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(transparent)]
pub struct Micros(pub u64);

impl Micros {
    /// Makes a duration of whole seconds.
    pub const fn from_seconds(seconds: u64) -> Self {
        Self(seconds.saturating_mul(1_000_000))
    }

    /// The longest duration that a protocol may name: thirty days.
    pub const MAX: Self = Self(30 * 24 * 3_600_000_000);

    /// Returns whole milliseconds, rounded down.
    pub fn millis(self) -> u64 {
        self.0 / 1_000
    }

    /// Returns the same duration for the standard library.
    pub fn std(self) -> std::time::Duration {
        std::time::Duration::from_micros(self.0)
    }
}

impl FromStr for Micros {
    type Err = String;

    /// Reads `90ms`, `45s`, `30m` or `6h`.
    fn from_str(text: &str) -> Result<Self, String> {
        let unit_at = text
            .find(|c: char| !c.is_ascii_digit())
            .unwrap_or(text.len());
        let unit = match &text[unit_at..] {
            "ms" => 1_000,
            "s" => 1_000_000,
            "m" => 60_000_000,
            "h" => 3_600_000_000_u64,
            _ => {
                return Err(format!(
                    "`{text}` is not a duration such as \"45m\" (ms, s, m or h)"
                ));
            }
        };
        let count = text[..unit_at].parse::<u64>().ok();
        count
            .and_then(|count| count.checked_mul(unit))
            .filter(|micros| *micros <= EXACT_MAX)
            .map(Self)
            .ok_or_else(|| format!("`{text}` is too long a duration"))
    }
}

impl fmt::Display for Micros {
    /// Writes the largest unit that divides the duration.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            us if us > 0 && us % 3_600_000_000 == 0 => write!(f, "{}h", us / 3_600_000_000),
            us if us > 0 && us % 60_000_000 == 0 => write!(f, "{}m", us / 60_000_000),
            us if us % 1_000_000 == 0 => write!(f, "{}s", us / 1_000_000),
            us => write!(f, "{}ms", us / 1_000),
        }
    }
}

/// A size in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Bytes(pub u64);

impl FromStr for Bytes {
    type Err = String;

    /// Reads `512B`, `64KiB`, `32MiB` or `2GiB`.
    fn from_str(text: &str) -> Result<Self, String> {
        let unit_at = text
            .find(|c: char| !c.is_ascii_digit())
            .unwrap_or(text.len());
        let shift = match &text[unit_at..] {
            "B" => 0,
            "KiB" => 10,
            "MiB" => 20,
            "GiB" => 30,
            _ => return Err(format!("`{text}` is not a size such as \"32MiB\"")),
        };
        let count = text[..unit_at].parse::<u64>().ok();
        count
            .and_then(|count| count.checked_mul(1 << shift))
            .filter(|bytes| *bytes <= EXACT_MAX)
            .map(Self)
            .ok_or_else(|| format!("`{text}` is too large a size"))
    }
}

impl fmt::Display for Bytes {
    /// Writes the largest unit that divides the size.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let units = [(30, "GiB"), (20, "MiB"), (10, "KiB")];
        let fits = |(shift, _): &&(u32, &str)| self.0 > 0 && self.0.is_multiple_of(1 << *shift);
        match units.iter().find(fits) {
            Some((shift, unit)) => write!(f, "{}{unit}", self.0 >> shift),
            None => write!(f, "{}B", self.0),
        }
    }
}

/// An amount of money in micro-dollars.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Money(pub u64);

impl Money {
    /// Returns the sum, or the largest amount that is written exactly.
    pub fn plus(self, other: Self) -> Self {
        Self(self.0.saturating_add(other.0).min(EXACT_MAX))
    }

    /// Returns so many times the amount, or the largest that is written exactly.
    pub fn times(self, count: u64) -> Self {
        Self(self.0.saturating_mul(count).min(EXACT_MAX))
    }
}

impl FromStr for Money {
    type Err = String;

    /// Reads `400 USD` or `2.50 USD`, to the micro-dollar.
    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || format!("`{text}` is not an amount such as \"2.50 USD\"");
        let amount = text.strip_suffix(" USD").ok_or_else(wrong)?;
        let (whole, fraction) = amount.split_once('.').unwrap_or((amount, ""));
        if fraction.len() > 6 || !fraction.bytes().all(|byte| byte.is_ascii_digit()) {
            return Err(wrong());
        }
        let whole = whole.parse::<u64>().ok();
        let fraction = format!("{fraction:0<6}").parse::<u64>().ok();
        whole
            .and_then(|whole| whole.checked_mul(1_000_000)?.checked_add(fraction?))
            .filter(|micros| *micros <= EXACT_MAX)
            .map(Self)
            .ok_or_else(wrong)
    }
}

impl fmt::Display for Money {
    /// Writes dollars with two decimals, or with as many as the amount needs.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let fraction = format!("{:06}", self.0 % 1_000_000);
        let needed = fraction.trim_end_matches('0').len().max(2);
        write!(f, "{}.{} USD", self.0 / 1_000_000, &fraction[..needed])
    }
}

/// A ratio that is not negative, as an exact fraction in lowest terms.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ratio {
    /// The numerator.
    pub num: u64,
    /// The denominator, never zero.
    pub den: u64,
}

impl FromStr for Ratio {
    type Err = String;

    /// Reads `3/2` or a decimal such as `1.5`.
    fn from_str(text: &str) -> Result<Self, String> {
        fraction(text)
            .map(|(num, den)| Self { num, den })
            .ok_or_else(|| format!("`{text}` is not a ratio such as \"1.5\""))
    }
}

impl fmt::Display for Ratio {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_fraction(f, self.num, self.den)
    }
}

/// A share between 0 and 1, as an exact fraction in lowest terms.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Share {
    /// The numerator.
    pub num: u64,
    /// The denominator, never zero.
    pub den: u64,
}

impl Share {
    /// Returns this share of a count, rounded down.
    pub fn floor_of(self, count: u64) -> u64 {
        let product = u128::from(self.num) * u128::from(count);
        u64::try_from(product / u128::from(self.den)).unwrap_or(u64::MAX)
    }
}

impl FromStr for Share {
    type Err = String;

    /// Reads `1/2` or a decimal such as `0.25`.
    fn from_str(text: &str) -> Result<Self, String> {
        fraction(text)
            .filter(|(num, den)| num <= den)
            .map(|(num, den)| Self { num, den })
            .ok_or_else(|| format!("`{text}` is not a share between 0 and 1 such as \"1/2\""))
    }
}

impl fmt::Display for Share {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_fraction(f, self.num, self.den)
    }
}

/// Reads a decimal number in millionths, rounded half-even on its digits.
pub fn millionths(decimal: &str) -> Option<i64> {
    let (mantissa, exponent) = match decimal.split_once(['e', 'E']) {
        Some((mantissa, exponent)) => (mantissa, exponent.parse::<i32>().ok()?),
        None => (decimal, 0),
    };
    let (sign, mantissa) = mantissa
        .strip_prefix('-')
        .map_or((1, mantissa), |rest| (-1, rest));
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let digits: i128 = format!("{whole}{fraction}").parse().ok()?;
    let scale = 6 + exponent - i32::try_from(fraction.len()).ok()?;
    let rounded = if scale >= 0 {
        digits.checked_mul(10_i128.checked_pow(scale.unsigned_abs())?)?
    } else {
        let Some(divisor) = 10_i128.checked_pow(scale.unsigned_abs()) else {
            return Some(0);
        };
        let (quotient, rest) = (digits / divisor, digits % divisor);
        let up = rest * 2 > divisor || (rest * 2 == divisor && quotient % 2 == 1);
        quotient + i128::from(up)
    };
    i64::try_from(sign * rounded).ok()
}

/// Reads a fraction or a decimal into lowest terms, each a number that JSON holds exactly.
fn fraction(text: &str) -> Option<(u64, u64)> {
    let (num, den): (u64, u64) = match text.split_once('/') {
        Some((num, den)) => (num.parse().ok()?, den.parse().ok()?),
        None => {
            let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
            let digits = format!("{whole}{fraction}").parse().ok()?;
            (
                digits,
                10_u64.checked_pow(u32::try_from(fraction.len()).ok()?)?,
            )
        }
    };
    let divisor = greatest_common_divisor(num, den);
    let lowest = (num / divisor, den / divisor);
    (den > 0 && lowest.0.max(lowest.1) <= EXACT_MAX).then_some(lowest)
}

fn write_fraction(f: &mut fmt::Formatter<'_>, num: u64, den: u64) -> fmt::Result {
    match den {
        1 => write!(f, "{num}"),
        den => write!(f, "{num}/{den}"),
    }
}

fn greatest_common_divisor(a: u64, b: u64) -> u64 {
    if b == 0 {
        a.max(1)
    } else {
        greatest_common_divisor(b, a % b)
    }
}

/// A run's number: 1 for the first start of the record, and so on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct RunId(pub u64);

impl fmt::Display for RunId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)
    }
}

impl FromStr for RunId {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        text.parse()
            .ok()
            .filter(|number| *number <= EXACT_MAX)
            .map(Self)
            .ok_or_else(|| format!("`{text}` is not a run's number"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_read_and_print_one_spelling() {
        for (text, us) in [
            ("90ms", 90_000),
            ("45s", 45_000_000),
            ("30m", 1_800_000_000),
        ] {
            let read: Micros = text.parse().unwrap();
            assert_eq!((read.0, read.to_string().as_str()), (us, text));
        }
        for bad in [
            "",
            "5",
            "-5s",
            "1d",
            "1.5h",
            "45 m",
            "m",
            "99999999999999999999h",
        ] {
            assert!(bad.parse::<Micros>().is_err(), "{bad}");
        }
    }

    #[test]
    fn times_read_and_print_one_spelling() {
        for (text, us) in [
            ("1970-01-01T00:00:00Z", 0),
            ("1969-12-31T23:59:59Z", -1_000_000),
            ("2024-02-29T12:00:00Z", 1_709_208_000_000_000),
            ("0001-01-01T00:00:00Z", -62_135_596_800_000_000),
            ("9999-12-30T22:00:00Z", 253_402_207_200_000_000),
        ] {
            assert_eq!(text.parse(), Ok(Time(us)), "{text}");
            assert_eq!(Time(us).to_string(), text);
        }
        let mut moment = -62_300_000_000_000_000_i64;
        while moment < 253_402_000_000_000_000 {
            let text = format!("{:.6}", jiff::Timestamp::from_microsecond(moment).unwrap());
            assert_eq!(Time(moment).precise(), text);
            moment += 3_217_654_321_987;
        }
        assert_eq!("1970-01-01T00:00:00.5Z".parse(), Ok(Time(500_000)));
        assert_eq!("1970-01-01T00:00:00.000001Z".parse(), Ok(Time(1)));
        assert_eq!(
            "9999-12-31T23:59:59.999999Z".parse(),
            Ok(Time(253_402_300_799_999_999))
        );
        for bad in [
            "",
            "Z",
            "2026-12-24",
            "2026-12-24T00:00Z",
            "2026-12-24T00:00:00",
            "2026-12-24T00:00:00z",
            "2026-12-24t00:00:00Z",
            "2026-12-24 00:00:00Z",
            "2026-12-24T00:00:00.Z",
            "2026-12-24T00:00:00.1234567Z",
            "2026-12-24T00:00:00,5Z",
            "2026-12-24T00:00:60Z",
            "2026-12-24T00:60:00Z",
            "2026-12-24T24:00:00Z",
            "2026-02-29T00:00:00Z",
            "2026-13-01T00:00:00Z",
            "10000-01-01T00:00:00Z",
            "-0001-01-01T00:00:00Z",
            " 2026-12-24T00:00:00Z",
        ] {
            assert!(bad.parse::<Time>().is_err(), "{bad}");
        }
    }

    #[test]
    fn amounts_add_up_and_never_wrap() {
        assert_eq!(Money(2).plus(Money(3)).times(4), Money(20));
        assert_eq!(Money(u64::MAX).plus(Money(1)), Money(EXACT_MAX));
        assert_eq!(Money(2).times(u64::MAX), Money(EXACT_MAX));
    }

    #[test]
    fn numbers_beyond_those_that_json_holds_exactly_are_not_read() {
        let (most, more) = ("9007199254740991", "9007199254740992");
        assert_eq!(most.parse(), Ok(RunId(EXACT_MAX)));
        assert!(more.parse::<RunId>().is_err());
        assert!(format!("{most}B").parse::<Bytes>().is_ok());
        assert!(format!("{more}B").parse::<Bytes>().is_err());
        assert!("9007199254740ms".parse::<Micros>().is_ok());
        assert!("9007199254741ms".parse::<Micros>().is_err());
    }

    #[test]
    fn times_that_are_written_precisely_compare_as_their_moments() {
        let times = [
            -1,
            0,
            1,
            999_999,
            1_000_000,
            1_792_639_394_500_000,
            i64::MAX,
        ];
        for pair in times.windows(2) {
            let (before, after) = (Time(pair[0]).precise(), Time(pair[1]).precise());
            assert!(before < after, "{before} {after}");
        }
        assert_eq!(Time(500_000).precise(), "1970-01-01T00:00:00.500000Z");
    }

    #[test]
    fn times_are_read_from_text() {
        for (text, micros) in [
            ("1970-01-01T00:00:00Z", Some(0)),
            ("2026-10-22T02:43:14.5Z", Some(1_792_636_994_500_000)),
            ("2026-10-22T04:43:14.5+02:00", Some(1_792_636_994_500_000)),
            ("1970-01-01T00:00:00+01:00", Some(-3_600_000_000)),
            ("2026-12-31T23:59:60Z", None),
            ("2026-02-29T00:00:00Z", None),
            ("2026-10-22T02:43:14", None),
            ("2026-10-22", None),
            ("", None),
        ] {
            assert_eq!(text.parse().ok(), micros.map(Time), "{text}");
        }
        let precise = Time(1_792_636_994_500_000).precise();
        assert_eq!(precise.parse(), Ok(Time(1_792_636_994_500_000)));
    }

    #[test]
    fn times_are_read_from_seconds() {
        for (seconds, micros) in [
            ("0", Some(0)),
            ("1792639394.5", Some(1_792_639_394_500_000)),
            ("0.0000005", Some(0)),
            ("1.7926e9", Some(1_792_600_000_000_000)),
            ("-1", None),
            // Milliseconds, by mistake.
            ("1792639394500", None),
        ] {
            assert_eq!(Time::from_seconds(seconds), micros.map(Time), "{seconds}");
        }
    }

    #[test]
    fn millionths_are_rounded_half_even_on_the_digits() {
        for (decimal, expected) in [
            ("2.5", 2_500_000),
            ("0.0000005", 0),
            ("0.0000015", 2),
            ("0.00000051", 1),
            ("-1.25", -1_250_000),
            ("1e-7", 0),
            ("3", 3_000_000),
            ("1.5e3", 1_500_000_000),
        ] {
            assert_eq!(millionths(decimal), Some(expected), "{decimal}");
        }
        assert_eq!(millionths("1e300"), None);
    }

    #[test]
    fn shares_are_exact() {
        for (text, num, den) in [
            ("1/2", 1, 2),
            ("0.5", 1, 2),
            ("0.1", 1, 10),
            ("1", 1, 1),
            ("0", 0, 1),
        ] {
            assert_eq!(text.parse(), Ok(Share { num, den }), "{text}");
        }
        for bad in ["3/2", "1/0", "1.5", "-0.5", "x", ""] {
            assert!(bad.parse::<Share>().is_err(), "{bad}");
        }
        // What JSON would round is not read, unless fewer digits say the same.
        assert!("0.12345678901234567".parse::<Share>().is_err());
        assert!("0.50000000000000000".parse::<Share>().is_ok());
    }

    #[test]
    fn a_size_is_written_in_the_largest_unit_that_divides_it() {
        for text in ["0B", "512B", "1KiB", "1025KiB", "32MiB", "2GiB"] {
            assert_eq!(text.parse::<Bytes>().unwrap().to_string(), text);
        }
        assert_eq!(Bytes(2048 << 10).to_string(), "2MiB");
    }

    #[test]
    fn a_digest_is_lower_case_hex_only() {
        let digest = Digest::of(&[b"a", b"bc"]);
        assert_eq!(digest.to_string().parse(), Ok(digest));
        assert_eq!(digest, Digest::of(&[b"abc"]));
        assert!(digest.to_string().to_uppercase().parse::<Digest>().is_err());
    }
}
