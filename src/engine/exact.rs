//! Sums of the numbers that JSON holds, exact whatever their order, so that a number can be taken out again.
//!
//! Every such number is a whole number of 2^-1074, written here in parts of 32 bits; parts of the same
//! weight are added up and never carried, so equal numbers have equal sums.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// How many bits a part has.
const PART: i32 = 32;
/// How many of them the fraction of a number has.
const FRACTION_BITS: u32 = 52;
/// The weight of the last bit of the fraction of the smallest numbers.
const LEAST: i32 = -1074;

/// A sum: the part of weight 2^(32 n) stands under n.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Exact(BTreeMap<i32, i64>);

impl Exact {
    /// Returns whether the sum is that of no numbers, or of zeros.
    pub fn is_zero(&self) -> bool {
        self.0.is_empty()
    }

    /// Adds a number so many times; taken out where that is negative.
    pub fn add(&mut self, number: f64, times: i64) {
        let bits = number.to_bits();
        let exponent = i32::try_from((bits >> FRACTION_BITS) & 0x7ff).unwrap_or_default();
        let fraction = bits & ((1 << FRACTION_BITS) - 1);
        let (whole, weight) = match exponent {
            0 => (fraction, LEAST),
            _ => (fraction | 1 << FRACTION_BITS, exponent - 1 + LEAST),
        };
        let times = if number.is_sign_negative() {
            -times
        } else {
            times
        };
        let mut left = u128::from(whole) << weight.rem_euclid(PART);
        let mut place = weight.div_euclid(PART);
        while left > 0 {
            let part = i64::try_from(left & 0xffff_ffff).unwrap_or_default();
            self.add_part(place, part.saturating_mul(times));
            left >>= PART;
            place += 1;
        }
    }

    fn add_part(&mut self, place: i32, part: i64) {
        let sum = self.0.get(&place).copied().unwrap_or_default();
        match sum.saturating_add(part) {
            0 => drop(self.0.remove(&place)),
            sum => drop(self.0.insert(place, sum)),
        }
    }

    /// Returns whether the sum is negative, and its parts carried: each below 2^32, the greatest weight
    /// first.
    pub fn digits(&self) -> (bool, Vec<(i32, u32)>) {
        match self.carried(1) {
            Some(digits) => (false, digits),
            None => (true, self.carried(-1).unwrap_or_default()),
        }
    }

    /// Carries the sum times 1 or -1; none where that is negative.
    fn carried(&self, sign: i64) -> Option<Vec<(i32, u32)>> {
        let mut digits = Vec::new();
        let (Some(first), Some(last)) = (self.0.keys().next(), self.0.keys().next_back()) else {
            return Some(digits);
        };
        let mut carry = 0;
        // A part has 63 bits, so what it carries ends in the second part after it.
        for place in *first..=last + 2 {
            let part = self.0.get(&place).copied().unwrap_or_default();
            let part = part.saturating_mul(sign).saturating_add(carry);
            carry = part.div_euclid(1 << PART);
            let digit = u32::try_from(part.rem_euclid(1 << PART)).unwrap_or_default();
            if digit > 0 {
                digits.push((place, digit));
            }
        }
        digits.reverse();
        (carry == 0).then_some(digits)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(numbers: &[f64]) -> Exact {
        let mut sum = Exact::default();
        numbers.iter().for_each(|number| sum.add(*number, 1));
        sum
    }

    #[test]
    fn a_number_taken_out_was_never_there() {
        let mut sum = of(&[1e300, 0.1, -3.0, 5e-324]);
        sum.add(1e300, -1);
        sum.add(5e-324, -1);
        assert_eq!(sum, of(&[-3.0, 0.1]));
        sum.add(0.1, -1);
        sum.add(-3.0, -1);
        assert!(sum.is_zero());
    }

    #[test]
    fn what_is_carried_is_one_number() {
        let four = 4_294_967_296.0;
        for (numbers, negative, digits) in [
            (&[][..], false, &[][..]),
            (&[5.0], false, &[(0, 5)]),
            (&[-5.0], true, &[(0, 5)]),
            (&[four, -1.0], false, &[(0, u32::MAX)]),
            (&[-four, 1.0], true, &[(0, u32::MAX)]),
            (
                &[four - 1.0, four - 1.0],
                false,
                &[(1, 1), (0, u32::MAX - 1)],
            ),
            (&[four * four, -1.0], false, &[(1, u32::MAX), (0, u32::MAX)]),
            (
                &[four * four * four, -1.0],
                false,
                &[(2, u32::MAX), (1, u32::MAX), (0, u32::MAX)],
            ),
            (&[0.5], false, &[(-1, 1 << 31)]),
        ] {
            let (is_negative, found) = of(numbers).digits();
            assert_eq!((is_negative, &found[..]), (negative, digits), "{numbers:?}");
        }
    }
}
