//! The reference of the resampling stream.
//!
//! Digests, states and the generator are recomputed here from their specification, so that what the
//! library draws is held against a second implementation as well as against the file.
use std::num::{NonZeroU64, NonZeroUsize};

use prereg::analysis::paired::sign_flip_monte_carlo::SignFlipMonteCarlo;
use prereg::analysis::resampling::bootstrap::{Plan, quotient, resample};
use prereg::analysis::resampling::stream::Streams;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use super::documents::{Computed, in_case, is_preamble, merge, numbers, with_cases};

/// The analysis the printed streams belong to.
const ANALYSIS: &str = "primary";

/// xoshiro256++ as published (Blackman and Vigna 2021).
fn next(state: &mut [u64; 4]) -> u64 {
    let [s0, s1, s2, s3] = *state;
    let output = s0.wrapping_add(s3).rotate_left(23).wrapping_add(s0);
    let (s2, s3) = (s2 ^ s0, s3 ^ s1);
    let (t1, t0) = (s1 ^ s2, s0 ^ s3);
    *state = [t0, t1, s2 ^ (s1 << 17), s3.rotate_left(45)];
    output
}

fn words(count: usize, mut word: impl FnMut() -> u64) -> Vec<String> {
    (0..count).map(|_| word().to_string()).collect()
}

fn stream(hash: &str, case: &Value) -> Result<Value, String> {
    let replicate = case["replicate"].as_u64().ok_or("no replicate")?;
    let named = format!("prereg-stream-v1\n{hash}\n{ANALYSIS}\n{replicate}\n");
    let digest = Sha256::digest(named);
    let bytes = digest.as_slice();
    let word = |place: usize| {
        let bytes = bytes.get(8 * place..8 * place + 8).unwrap_or_default();
        bytes
            .iter()
            .rev()
            .fold(0, |word, &byte| word << 8 | u64::from(byte))
    };
    let state: [u64; 4] = std::array::from_fn(word);
    let mut running = state;
    let mut library = Streams::new(hash, ANALYSIS).replicate(replicate);
    let outputs = words(4, || library.next_word());
    if outputs != words(4, || next(&mut running)) {
        return Err("the library's stream is not xoshiro256++ from its digest".into());
    }
    let mut fresh = Streams::new(hash, ANALYSIS).replicate(replicate);
    let bound = NonZeroU64::new(7).ok_or("a bound")?;
    Ok(json!({
        "sha256": bytes.iter().map(|byte| format!("{byte:02x}")).collect::<String>(),
        "state": state.map(|word| word.to_string()),
        "first_outputs": outputs,
        "indices_below_7": (0..12).map(|_| fresh.below(bound)).collect::<Vec<_>>(),
    }))
}

/// The streams, and what is drawn from them.
pub(crate) fn streams(reference: &Value) -> Result<Computed, String> {
    let inputs = |path: &[String]| {
        is_preamble(path)
            || path
                .first()
                .is_some_and(|first| first == "registration_hash")
            || in_case(path, "streams", &["replicate"])
            || in_case(path, "percentile", &["d", "analysis", "B", "alpha"])
            || in_case(path, "sign_flip_mc", &["d", "analysis", "B"])
    };
    let hash = reference["registration_hash"].as_str().ok_or("no hash")?;
    let of = |case: &Value| Streams::new(hash, case["analysis"].as_str().unwrap_or_default());
    let count = |case: &Value| case["B"].as_u64().and_then(NonZeroU64::new).ok_or("no B");
    let mut document = with_cases(reference, "streams", inputs, |case| stream(hash, case))?;
    let intervals = with_cases(reference, "percentile", inputs, |case| {
        let rows: Vec<[f64; 2]> = numbers(&case["d"]).into_iter().map(|d| [d, 1.0]).collect();
        let plan = Plan {
            streams: &of(case),
            resamples: count(case)?.get(),
            threads: NonZeroUsize::MIN,
        };
        let alpha = case["alpha"].as_f64().ok_or("no alpha")?;
        Ok(json!({ "ci": resample(&rows, quotient, alpha, plan).percentile }))
    })?;
    let signs = with_cases(reference, "sign_flip_mc", inputs, |case| {
        let test = SignFlipMonteCarlo::of_values(&numbers(&case["d"]), count(case)?, &of(case));
        Ok(json!({ "count": test.count, "p": test.p_two_sided }))
    })?;
    let mut state = [1, 2, 3, 4];
    let generated = words(5, || next(&mut state));
    merge(
        &mut document,
        json!({
            "xoshiro256plusplus_state_1_2_3_4": generated,
            "percentile": intervals["percentile"],
            "sign_flip_mc": signs["sign_flip_mc"],
        }),
    );
    Ok(Computed { document, inputs })
}
