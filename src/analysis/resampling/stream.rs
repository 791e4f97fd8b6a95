//! The registered resampling stream: anyone can recompute every draw from the registration.
//!
//! Replicate r has a stream of its own, so a result does not depend on the order in which
//! replicates are computed, nor on threads. Its state is
//! SHA-256("prereg-stream-v1\n" hash "\n" analysis "\n" r "\n") read as four little-endian 64-bit
//! words of xoshiro256++ (Blackman and Vigna 2021). Indices are Lemire's bounded draws (2019), one
//! output each unless rejected; signs are the bits of an output, lowest first.
use std::num::NonZeroU64;

use sha2::{Digest, Sha256};

/// The streams of one analysis of one registration, one per replicate.
#[derive(Clone, Debug)]
pub struct Streams {
    prefix: Sha256,
}

impl Streams {
    /// Takes the registration hash as written in the registration (hex) and the id of the analysis.
    pub fn new(registration_hash: &str, analysis: &str) -> Self {
        let prefix = Sha256::new()
            .chain_update("prereg-stream-v1\n")
            .chain_update(registration_hash)
            .chain_update("\n")
            .chain_update(analysis)
            .chain_update("\n");
        Self { prefix }
    }

    /// Returns the stream of a replicate; the first replicate is 0.
    pub fn replicate(&self, replicate: u64) -> Stream {
        let digest = self
            .prefix
            .clone()
            .chain_update(replicate.to_string())
            .chain_update("\n")
            .finalize();
        let mut state = [0; 4];
        for (word, bytes) in state.iter_mut().zip(digest.as_slice().chunks_exact(8)) {
            *word = bytes
                .iter()
                .rev()
                .fold(0, |word, &byte| word << 8 | u64::from(byte));
        }
        Stream { state }
    }
}

/// A stream of 64-bit words: xoshiro256++.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stream {
    state: [u64; 4],
}

impl Stream {
    /// Returns the next word.
    #[inline]
    pub fn next_word(&mut self) -> u64 {
        let [mut a, mut b, mut c, mut d] = self.state;
        let word = a.wrapping_add(d).rotate_left(23).wrapping_add(a);
        let shifted = b << 17;
        c ^= a;
        d ^= b;
        b ^= c;
        a ^= d;
        c ^= shifted;
        d = d.rotate_left(45);
        self.state = [a, b, c, d];
        word
    }

    /// Returns a draw from 0..bound, each equally likely.
    #[inline]
    pub fn below(&mut self, bound: NonZeroU64) -> u64 {
        let (high, low) = wide_product(self.next_word(), bound);
        if low >= bound.get() {
            return high;
        }
        let (stream, high) = fair_draw(self.clone(), (high, low), bound);
        *self = stream;
        high
    }
}

/// Draws again while the low word falls where some index would have one word more than the others.
///
/// Takes the stream by value, so that the state of the usual path stays in registers.
#[cold]
fn fair_draw(
    mut stream: Stream,
    (mut high, mut low): (u64, u64),
    bound: NonZeroU64,
) -> (Stream, u64) {
    let unfair = bound.get().wrapping_neg() % bound;
    while low < unfair {
        (high, low) = wide_product(stream.next_word(), bound);
    }
    (stream, high)
}

/// Returns the high and the low word of a product.
#[inline]
fn wide_product(word: u64, bound: NonZeroU64) -> (u64, u64) {
    let product = u128::from(word) * u128::from(bound.get());
    ((product >> 64) as u64, product as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_generator_is_xoshiro256_plus_plus() {
        let mut stream = Stream {
            state: [1, 2, 3, 4],
        };
        let words: Vec<u64> = (0..5).map(|_| stream.next_word()).collect();
        let published = [
            41943041,
            58720359,
            3588806011781223,
            3591011842654386,
            9228616714210784205,
        ];
        assert_eq!(words, published);
    }

    #[test]
    fn an_unfair_draw_is_drawn_again() {
        let bound = NonZeroU64::new((1 << 63) + 1).unwrap();
        let mut stream = Streams::new("hash", "analysis").replicate(0);
        let draws: Vec<u64> = (0..1000).map(|_| stream.below(bound)).collect();
        assert!(draws.iter().all(|&draw| draw < bound.get()));
        let mut again = Streams::new("hash", "analysis").replicate(0);
        let words = (0..1000).map(|_| again.next_word());
        // Almost half the words are refused, so 1000 draws need some 2000 words.
        let taken = words
            .filter(|&word| wide_product(word, bound).1 >= bound.get().wrapping_neg() % bound)
            .map(|word| wide_product(word, bound).0)
            .collect::<Vec<_>>();
        assert!(taken.len() < 600);
        assert_eq!(draws.get(..taken.len()), Some(taken.as_slice()));
    }
}
