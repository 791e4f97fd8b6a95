//! Task values given as JSON are read whole or refused with what is wrong.

use prereg::analysis::tables::defect::DefectCode;
use prereg::analysis::tables::direct::{read_numbers, read_tasks};
use prereg::analysis::values::binary::Estimand;

#[test]
fn a_null_slot_has_no_verdict() {
    let text = r#"{"k": 2, "tasks": [{"task": "t", "a": [1, null], "b": [0, 1], "more": 1}]}"#;
    let outcome = read_tasks(text).unwrap();
    assert_eq!(outcome.paired(Estimand::AsDrawn).difference_values(), [0.0]);
    assert_eq!(
        outcome.paired(Estimand::Available).difference_values(),
        [-0.5]
    );
    assert_eq!(outcome.paired(Estimand::AsDrawn).clusters(), None);
}

#[test]
fn each_fault_of_slots_has_its_code() {
    for (text, code) in [
        ("{", DefectCode::UnreadableJson),
        (r#"{"k": 1}"#, DefectCode::UnreadableJson),
        (r#"{"k": -1, "tasks": []}"#, DefectCode::UnreadableJson),
        (r#"{"k": 0, "tasks": []}"#, DefectCode::RepeatOutOfRange),
        (
            r#"{"k": 4000000000, "tasks": []}"#,
            DefectCode::RepeatOutOfRange,
        ),
        (
            r#"{"k": 1, "tasks": [{"task": "t", "a": [2], "b": [1]}]}"#,
            DefectCode::NotAVerdict,
        ),
        (
            r#"{"k": 1, "tasks": [{"task": "t", "a": [0.5], "b": [1]}]}"#,
            DefectCode::UnreadableJson,
        ),
        (
            r#"{"k": 2, "tasks": [{"task": "t", "a": [1], "b": [1, 1]}]}"#,
            DefectCode::SlotCount,
        ),
        (
            r#"{"k": 1, "tasks": [{"task": "t", "a": [1], "b": [1]}, {"task": "t", "a": [1], "b": [1]}]}"#,
            DefectCode::RepeatedSlot,
        ),
        (
            r#"{"k": 1, "tasks": [{"task": "t", "cluster": "c", "a": [1], "b": [1]}, {"task": "u", "a": [1], "b": [1]}]}"#,
            DefectCode::MissingCluster,
        ),
    ] {
        assert_eq!(read_tasks(text).unwrap_err().code, code, "{text}");
    }
}

#[test]
fn each_fault_of_numbers_has_its_code() {
    for (text, code) in [
        (r#"{"a": [1], "b": [NaN]}"#, DefectCode::UnreadableJson),
        (r#"{"a": [1], "b": [1e999]}"#, DefectCode::UnreadableJson),
        (r#"{"a": [1], "b": [1e301]}"#, DefectCode::NotANumber),
        (r#"{"a": [1], "b": []}"#, DefectCode::SlotCount),
        (
            r#"{"a": [1], "b": [1], "clusters": []}"#,
            DefectCode::SlotCount,
        ),
    ] {
        assert_eq!(read_numbers(text).unwrap_err().code, code, "{text}");
    }
    assert_eq!(
        read_numbers(r#"{"a": [-0.2], "b": [1.1]}"#)
            .unwrap()
            .paired()
            .differences,
        [1.3]
    );
}
