//! Numbers as the page of an answer shows them; the data has every digit.
#![expect(
    clippy::float_arithmetic,
    reason = "what is shown is rounded, never decided upon"
)]

use crate::analysis::registered::answer::AnsweredComparison;
use crate::protocol::model::{Effect, OutcomeKind};

/// Writes a share in per cent with one decimal.
pub(in crate::report) fn percent(share: f64) -> String {
    format!("{} %", hundredths(share))
}

/// Writes a share in hundredths with one decimal, rounded half away from 0.
pub(in crate::report) fn hundredths(share: f64) -> String {
    // Adding 0 makes -0 a 0.
    format!("{:.1}", (share * 1000.0).round() / 10.0 + 0.0)
}

/// Writes the level of an interval in per cent.
pub(in crate::report) fn level(share: f64) -> String {
    let permille = format!("{share:.6}");
    let digits = permille.trim_start_matches("0.").trim_end_matches('0');
    match digits {
        _ if digits.len() <= 2 => format!("{digits:0<2} %"),
        _ => format!("{}.{} %", &digits[..2], &digits[2..]),
    }
}

/// Writes the level of an interval that misses with a probability of alpha.
pub(in crate::report) fn level_at(alpha: f64) -> String {
    level(1.0 - alpha)
}

/// Writes a p with two significant digits.
pub(in crate::report) fn p_value(p: f64) -> String {
    if p < 0.0001 {
        return "p < 0.0001".to_owned();
    }
    format!("p = {}", rounded(p, 2))
}

/// Writes a number with so many significant digits, without an exponent where it would not help.
pub(in crate::report) fn rounded(number: f64, digits: usize) -> String {
    if number == 0.0 {
        return "0".to_owned();
    }
    let text = format!("{number:.*e}", digits.saturating_sub(1));
    let short: f64 = text.parse().unwrap_or(number);
    match short.abs() {
        magnitude if (1e-5..1e15).contains(&magnitude) => format!("{short}"),
        _ => format!("{short:e}"),
    }
}

/// A scale on which the numbers of a comparison are shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Scale {
    /// A difference of shares, in points.
    Points,
    /// A difference of numbers, money or time.
    Unit(&'static str),
    /// A ratio.
    Times,
}

impl Scale {
    pub(super) fn of(compared: &AnsweredComparison) -> Self {
        match (compared.effect, compared.kind) {
            (Effect::RatioOfMeans | Effect::GeometricRatio, _) => Self::Times,
            (Effect::PairedDiff, OutcomeKind::Binary) => Self::Points,
            (Effect::PairedDiff, OutcomeKind::Money) => Self::Unit(" USD"),
            (Effect::PairedDiff, OutcomeKind::Duration) => Self::Unit(" ms"),
            (Effect::PairedDiff, OutcomeKind::Number) => Self::Unit(""),
        }
    }

    /// Writes an effect with its sign and unit.
    pub(super) fn effect(self, value: f64) -> String {
        match self {
            Self::Points => {
                let points = hundredths(value);
                let sign = if points.starts_with('-') { "" } else { "+" };
                format!("{sign}{points} points")
            }
            Self::Unit(unit) => {
                let sign = if value > 0.0 { "+" } else { "" };
                format!("{sign}{}{unit}", rounded(value, 4))
            }
            Self::Times => format!("{} times", rounded(value, 3)),
        }
    }

    /// Writes an end of an interval, whose unit stands before it.
    pub(super) fn end(self, value: f64) -> String {
        match self {
            Self::Points => hundredths(value),
            Self::Unit(_) => rounded(value, 4),
            Self::Times => rounded(value, 3),
        }
    }

    /// Writes a mean of an arm.
    pub(super) fn mean(self, kind: OutcomeKind, value: f64) -> String {
        match kind {
            OutcomeKind::Binary => percent(value),
            OutcomeKind::Money => format!("{} USD", rounded(value, 4)),
            OutcomeKind::Duration => format!("{} ms", rounded(value, 4)),
            OutcomeKind::Number => rounded(value, 4),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_short_and_never_minus_zero() {
        for (p, text) in [
            (0.0161, "p = 0.016"),
            (0.00009, "p < 0.0001"),
            (0.5, "p = 0.5"),
            (1.0, "p = 1"),
            (0.0001, "p = 0.0001"),
        ] {
            assert_eq!(p_value(p), text);
        }
        for (value, text) in [
            (0.0825, "+8.3 points"),
            (-0.00001, "+0.0 points"),
            (-1.0, "-100.0 points"),
        ] {
            assert_eq!(Scale::Points.effect(value), text);
        }
        assert_eq!(Scale::Unit(" USD").effect(12.3456), "+12.35 USD");
        assert_eq!(Scale::Unit("").effect(-0.5), "-0.5");
        assert_eq!(Scale::Times.effect(2.1149), "2.11 times");
        assert_eq!(rounded(1.0e-7, 2), "1e-7");
        assert_eq!(percent(0.588), "58.8 %");
    }
}
