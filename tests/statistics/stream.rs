//! The published values of the registered stream, and its use in a sign flip.
use std::num::NonZeroU64;

use prereg::analysis::resampling::stream::Streams;
use serde_json::Value;

fn reference() -> Value {
    serde_json::from_str(include_str!("../stats/edge-rng.json")).unwrap()
}

fn streams(reference: &Value, analysis: &str) -> Streams {
    Streams::new(reference["registration_hash"].as_str().unwrap(), analysis)
}

#[test]
fn words_and_indices_are_the_published_ones() {
    let reference = reference();
    for case in reference["streams"].as_array().unwrap() {
        let stream = streams(&reference, "primary").replicate(case["replicate"].as_u64().unwrap());
        let mut words = stream.clone();
        for word in case["first_outputs"].as_array().unwrap() {
            assert_eq!(words.next_word().to_string(), word.as_str().unwrap());
        }
        let mut indices = stream;
        for index in case["indices_below_7"].as_array().unwrap() {
            let drawn = indices.below(NonZeroU64::new(7).unwrap());
            assert_eq!(drawn, index.as_u64().unwrap());
        }
    }
}

#[test]
fn signs_flip_every_task_lowest_bit_first() {
    let reference = reference();
    for case in reference["sign_flip_mc"].as_array().unwrap() {
        let differences: Vec<f64> = serde_json::from_value(case["d"].clone()).unwrap();
        let observed: f64 = differences.iter().sum();
        let streams = streams(&reference, case["analysis"].as_str().unwrap());
        let replicates = case["B"].as_u64().unwrap();
        let as_large = (0..replicates).filter(|&replicate| {
            let mut stream = streams.replicate(replicate);
            let words = std::iter::repeat_with(|| stream.next_word());
            let signs = words.flat_map(|word| (0..64).map(move |bit| word >> bit & 1 == 1));
            let flipped = differences
                .iter()
                .zip(signs)
                .map(|(d, keep)| if keep { *d } else { -d });
            flipped.sum::<f64>().abs() >= observed.abs() - 1e-12
        });
        assert_eq!(as_large.count() as u64, case["count"].as_u64().unwrap());
    }
}
