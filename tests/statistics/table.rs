//! A table of runs is read whole or refused with every fault it has.
#![expect(
    clippy::unwrap_used,
    reason = "a test that cannot read its table has failed"
)]

use prereg::analysis::tables::defect::{DEFECTS_MAX, DefectCode, Defects};
use prereg::analysis::tables::table::{DrawOrder, Reading, Table};
use prereg::analysis::values::binary::Estimand;
use prereg::analysis::values::comparison::Measure;
use prereg::analysis::values::flow::Flow;

const HEADER: &str = "task,arm,repeat,status,resolved\n";

fn read(text: &str) -> Result<Table, Defects> {
    Table::read(text, Reading::default())
}

/// The faults as `line column code`, with `-` for what is absent.
fn faults(text: &str, reading: Reading<'_>) -> Vec<String> {
    let Err(defects) = Table::read(text, reading) else {
        return Vec::new();
    };
    assert!(!defects.is_empty(), "a refusal says why");
    for defect in &defects.listed {
        assert!(
            !defect.hint.is_empty() && !defect.message.ends_with('.'),
            "{defect:?}"
        );
    }
    let code = |code: DefectCode| {
        serde_json::to_value(code)
            .unwrap()
            .as_str()
            .unwrap()
            .to_owned()
    };
    let line = |line: Option<u64>| line.map_or("-".to_owned(), |line| line.to_string());
    let column = |column: &Option<String>| column.clone().unwrap_or("-".to_owned());
    let listed = defects.listed.iter();
    listed
        .map(|d| format!("{} {} {}", line(d.line), column(&d.column), code(d.code)))
        .collect()
}

#[test]
fn every_published_table_is_read_without_a_fault() {
    for (file, tasks, arms, repeats) in [
        ("swepro-a", 399, 2, 1),
        ("tb-droid", 80, 3, 5),
        ("cpa-3v", 484, 3, 1),
    ] {
        let text = std::fs::read_to_string(format!("tests/data/{file}.csv")).unwrap();
        let table = Table::read(
            &text,
            Reading {
                cluster: Some("cluster"),
                repeats: None,
            },
        )
        .unwrap();
        assert_eq!(table.tasks().len(), tasks, "{file}");
        assert_eq!(table.arms().count(), arms, "{file}");
        assert_eq!(table.repeats(), repeats, "{file}");
        assert_eq!(table.order(), DrawOrder::Position, "{file}");
        assert_eq!(table.unread(), ["started_at", "ended_at"], "{file}");
    }
}

#[test]
fn columns_are_found_by_name_and_unread_ones_are_named() {
    let table = read("note,resolved,status,repeat,arm,task\nx,1,scored,1,a,t\n").unwrap();
    assert_eq!(table.unread(), ["note"]);
    assert_eq!(table.order(), DrawOrder::Appearance);
}

#[test]
fn a_byte_order_mark_crlf_and_quotes_change_nothing() {
    let plain = format!("{HEADER}\"a, b\",x,1,scored,1\nc,x,1,scored,0\n");
    let windows = format!("\u{feff}{}", plain.replace('\n', "\r\n"));
    assert_eq!(read(&plain), read(&windows));
    assert_eq!(read(&plain).unwrap().tasks(), ["a, b", "c"]);
}

#[test]
fn lines_are_counted_whatever_ends_them() {
    for end in ["\n", "\r\n", "\r"] {
        let text = "task,arm,repeat,status,resolved\n\"t\n1\",a,1,scored,1\n\nu,a,1,scored,2\n";
        let text = text.replace('\n', end);
        assert_eq!(
            faults(&text, Reading::default()),
            ["5 resolved not-a-verdict"],
            "{end:?}"
        );
    }
}

#[test]
fn runs_that_do_not_add_up_are_refused() {
    let table = read(&format!("{HEADER}t,a,1,scored,1\nt,b,1,scored,1\n")).unwrap();
    let sound = table.compare("a", "b").unwrap();
    let mut unjudged = sound.clone();
    unjudged.reference.tasks[0][0].scored = false;
    let mut crowded = sound.clone();
    crowded.treatment.tasks[0].push(sound.treatment.tasks[0][0].clone());
    for comparison in [unjudged, crowded] {
        let outcomes = (comparison.resolved(), comparison.false_claims());
        if let (Ok(resolved), Ok(false_claims)) = outcomes {
            let defect = Flow::of(&comparison, &resolved, &false_claims).unwrap_err();
            assert_eq!(defect.code, DefectCode::FlowMismatch);
        } else {
            assert!(comparison.resolved().is_err() && comparison.false_claims().is_ok());
        }
    }
}

#[test]
fn tasks_stand_in_order_of_their_position() {
    let rows = "t,x,1,2,scored,1\nu,x,1,1,scored,0\n";
    let table = read(&format!("task,arm,repeat,position,status,resolved\n{rows}")).unwrap();
    assert_eq!(table.tasks(), ["u", "t"]);
}

#[test]
fn an_absent_row_is_a_missing_slot_and_unspent_money_is_no_number() {
    let text = "task,arm,repeat,status,resolved,cost_usd\n\
        t,a,1,scored,1,2.5\nt,a,2,unjudged,,1.5\nt,b,2,scored,1,\nu,b,1,scored,0,1\n";
    let comparison = read(text).unwrap().compare("a", "b").unwrap();
    let resolved = comparison.resolved().unwrap();
    assert_eq!(
        resolved.paired(Estimand::AsDrawn).difference_values(),
        [0.0, 0.0]
    );
    assert_eq!(
        resolved.paired(Estimand::Available).difference_values(),
        [0.0]
    );
    assert_eq!(resolved.paired(Estimand::CompleteBlocks).task_count(), 0);
    assert_eq!(
        resolved.paired(Estimand::BoundLow).difference_values(),
        [-0.5, -1.0]
    );
    assert_eq!(
        resolved.paired(Estimand::BoundHigh).difference_values(),
        [0.5, 0.5]
    );
    let cost = comparison.numbers(Measure::Cost).unwrap();
    assert_eq!(cost.recorded(), (2, 1));
    assert_eq!(cost.paired().tasks, Vec::<usize>::new());
    let flow = Flow::of(&comparison, &resolved, &comparison.false_claims().unwrap()).unwrap();
    assert_eq!((flow.a.runs, flow.a.unjudged, flow.b.resolved), (2, 1, 1));
    assert_eq!(flow.a.unjudged_by_reason.get("unspecified"), Some(&1));
}

#[test]
fn each_fault_is_named_where_it_stands() {
    let rows: &[(&str, &[&str])] = &[
        ("", &["- - empty-table"]),
        ("\u{feff}\n\n", &["- - empty-table"]),
        (HEADER, &["- - empty-table"]),
        (
            "task,arm\n",
            &[
                "1 repeat missing-column",
                "1 status missing-column",
                "1 resolved missing-column",
            ],
        ),
        (
            "task,arm,arm,repeat,status,resolved\n",
            &["1 arm repeated-column"],
        ),
        (
            "task,arm,repeat,status,resolved\nt,a,1,scored\n",
            &["2 - wrong-cell-count"],
        ),
        (
            "task,arm,repeat,status,resolved\n\nt,a,1,scored,1,9\n",
            &["3 - wrong-cell-count"],
        ),
        (
            "task,arm,repeat,status,resolved\n t,a,1,scored,1\n",
            &["2 task stray-space"],
        ),
        (
            "task,arm,repeat,status,resolved\n,,,,\n",
            &[
                "2 task empty-cell",
                "2 arm empty-cell",
                "2 repeat empty-cell",
                "2 status empty-cell",
            ],
        ),
        (
            "task,arm,repeat,status,resolved\nt,a,0,scored,1\n",
            &["2 repeat not-a-count"],
        ),
        (
            "task,arm,repeat,status,resolved\nt,a,+1,scored,1\n",
            &["2 repeat not-a-count"],
        ),
        (
            "task,arm,repeat,status,resolved\nt,a,1.0,scored,1\n",
            &["2 repeat not-a-count"],
        ),
        (
            "task,arm,repeat,status,resolved\nt,a,99999999999999999999,scored,1\n",
            &["2 repeat not-a-count"],
        ),
        (
            "task,arm,repeat,status,resolved\nt,a,1001,scored,1\n",
            &["2 repeat repeat-out-of-range"],
        ),
        (
            "task,arm,repeat,status,resolved\nt,a,1,done,1\n",
            &["2 status unknown-status"],
        ),
        (
            "task,arm,repeat,status,resolved\nt,a,1,scored,yes\n",
            &["2 resolved not-a-verdict"],
        ),
        (
            "task,arm,repeat,status,resolved\nt,a,1,scored,\n",
            &["2 resolved verdict-missing"],
        ),
        (
            "task,arm,repeat,status,resolved\nt,a,1,unjudged,0\n",
            &["2 resolved verdict-unexpected"],
        ),
        (
            "task,arm,repeat,status,resolved\nt,a,1,scored,1\nt,a,3,scored,1\n",
            &["- repeat repeat-gap"],
        ),
        (
            "task,arm,repeat,status,resolved\nt,a,1,scored,1\nt,a,1,scored,1\n",
            &["3 - repeated-slot"],
        ),
        (
            "task,arm,repeat,status,resolved,false_claim\nt,a,1,unjudged,,0\n",
            &["2 false_claim verdict-unexpected"],
        ),
        (
            "task,arm,repeat,status,resolved,false_claim\nt,a,1,scored,1,1\n",
            &["2 false_claim claim-contradiction"],
        ),
        (
            "task,arm,repeat,status,resolved,claimed,false_claim\nt,a,1,scored,0,1,0\n",
            &["2 false_claim claim-contradiction"],
        ),
        (
            "task,arm,repeat,position,status,resolved\nt,a,1,1,scored,1\nu,a,1,1,scored,1\n",
            &["3 position shared-position"],
        ),
        (
            "task,arm,repeat,position,status,resolved\nt,a,1,1,scored,1\nt,b,1,2,scored,1\n",
            &["3 position two-positions"],
        ),
    ];
    for (text, expected) in rows {
        assert_eq!(faults(text, Reading::default()), *expected, "{text:?}");
    }
}

#[test]
fn only_finite_decimal_numbers_not_below_zero_are_numbers() {
    for (cell, code) in [
        ("NaN", "not-a-number"),
        ("inf", "not-a-number"),
        ("-Infinity", "not-a-number"),
        ("0x10", "not-a-number"),
        ("1e999", "not-a-number"),
        ("\"1,5\"", "not-a-number"),
        ("e", "not-a-number"),
        ("-1", "negative-number"),
    ] {
        let text = format!("task,arm,repeat,status,resolved,cost_usd\nt,a,1,scored,1,{cell}\n");
        assert_eq!(
            faults(&text, Reading::default()),
            [format!("2 cost_usd {code}")],
            "{cell}"
        );
    }
    let text = "task,arm,repeat,status,resolved,cost_usd\nt,a,1,scored,1,-0\nt,b,1,scored,1,.5e1\n";
    let pairs = read(text)
        .unwrap()
        .compare("a", "b")
        .unwrap()
        .numbers(Measure::Cost)
        .unwrap();
    assert_eq!(pairs.paired().differences, [5.0]);
}

#[test]
fn clusters_and_repeats_are_what_the_caller_says() {
    let text = "task,repo,arm,repeat,status,resolved\nt,r,a,1,scored,1\nt,s,b,2,scored,1\n";
    let reading = |cluster, repeats| Reading { cluster, repeats };
    assert_eq!(
        faults(text, reading(Some("repo"), None)),
        ["3 repo two-clusters"]
    );
    assert_eq!(
        faults(text, reading(Some("family"), None)),
        ["1 family missing-column"]
    );
    assert_eq!(
        faults(text, reading(None, Some(1))),
        ["3 repeat repeat-out-of-range"]
    );
    assert_eq!(
        faults(text, reading(None, Some(0))),
        ["- - repeat-out-of-range"]
    );
    assert_eq!(
        Table::read(text, reading(None, Some(4))).unwrap().repeats(),
        4
    );
}

#[test]
fn an_unknown_arm_is_told_the_arms_there_are() {
    let table = read(&format!("{HEADER}t,old,1,scored,1\nt,new,1,scored,1\n")).unwrap();
    let defect = table.compare("old", "newer").unwrap_err();
    assert_eq!(defect.code, DefectCode::UnknownArm);
    assert_eq!(defect.hint, "the arms of the table are `old`, `new`");
    assert_eq!(
        table.compare("old", "old").unwrap_err().code,
        DefectCode::SameArm
    );
}

#[test]
fn the_list_of_faults_is_bounded_and_the_rest_are_counted() {
    let text = format!(
        "{HEADER}{}",
        "t,a,1,scored,maybe\n".repeat(DEFECTS_MAX + 23)
    );
    let defects = read(&text).unwrap_err();
    assert_eq!((defects.listed.len(), defects.unlisted), (DEFECTS_MAX, 23));
}
