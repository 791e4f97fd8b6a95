use proptest::prelude::*;
use serde_json::json;

use super::Expected::{Any, Bool, Number};
use super::*;

fn parsed(text: &str) -> Expression {
    Expression::parse(text).unwrap_or_else(|defect| panic!("{text}: {defect:?}"))
}

fn answer(text: &str, bindings: &Value) -> Result<Answer, String> {
    let bindings = bindings.as_object().unwrap();
    parsed(text)
        .evaluate(bindings)
        .map_err(|error| error.message)
}

/// A row of a table of answers.
enum Row {
    Is(&'static str, Value),
    Unknown(&'static str),
    Fails(&'static str, &'static str),
}

fn assert_rows(bindings: &Value, rows: &[Row]) {
    for row in rows {
        match row {
            Is(text, value) => {
                assert_eq!(
                    answer(text, bindings),
                    Ok(Answer::Known(value.clone())),
                    "{text}"
                );
            }
            Unknown(text) => assert_eq!(answer(text, bindings), Ok(Answer::Unknown), "{text}"),
            Fails(text, message) => {
                assert_eq!(answer(text, bindings), Err((*message).to_owned()), "{text}");
            }
        }
    }
}

use Row::{Fails, Is, Unknown};

/// `u` is absent, `t` and `f` are known, `e` fails.
fn truth() -> Value {
    json!({ "t": true, "f": false, "e": 0, "o": {} })
}

#[test]
fn golden_three_valued_logic() {
    assert_rows(
        &truth(),
        &[
            Is("t && t", json!(true)),
            Is("t && f", json!(false)),
            Is("f || f", json!(false)),
            Is("u || t", json!(true)),
            Is("t || u", json!(true)),
            Is("u && f", json!(false)),
            Is("f && u", json!(false)),
            Unknown("u && t"),
            Unknown("t && u"),
            Unknown("u || f"),
            Unknown("f || u"),
            Unknown("u && u"),
            Unknown("u || o.u"),
            Unknown("!u"),
            Unknown("!(u && t)"),
            Is("!(u && f)", json!(true)),
            Is("u && t || t", json!(true)),
            Is("t || 1 / e == 1", json!(true)),
            Is("1 / e == 1 || t", json!(true)),
            Is("f && 1 / e == 1", json!(false)),
            Is("1 / e == 1 && f", json!(false)),
            Fails("1 / e == 1 && t", "division by zero"),
            Fails("f || 1 / e == 1", "division by zero"),
            // Unknown goes before a failure, in both orders.
            Unknown("u || 1 / e == 1"),
            Unknown("1 / e == 1 || u"),
            Unknown("u && 1 / e == 1"),
            Is("e || t", json!(true)),
            Fails("e || f", "int where bool is needed"),
            Fails("t && 'x'", "string where bool is needed"),
            Unknown("u ? 1 : 1"),
            Is("t ? 1 : u", json!(1)),
            Unknown("f ? 1 : u"),
            Is("(u || t) ? 1 : 2", json!(1)),
            Fails("e ? 1 : 2", "int where bool is needed"),
            Fails("!e", "`!` does not take int"),
            // Logic inside operators and literals.
            Is("(u || t) == t", json!(true)),
            Unknown("(u || f) == f"),
            Is("[u || t, f && u]", json!([true, false])),
            Is("{'a': u || t}", json!({ "a": true })),
            Unknown("[u]"),
            Is("size([u || t]) == 1 && !(u && f)", json!(true)),
        ],
    );
}

#[test]
fn golden_presence_and_absence() {
    let bindings = json!({
        "report": { "passed": 3, "nothing": null, "text": "abc", "no": false,
            "hidden": { "passed": 2 }, "map": { "a": 1 }, "items": [1, 2] },
        "stages": { "phase-1": { "complete": true } },
    });
    assert_rows(
        &bindings,
        &[
            Unknown("report.missing"),
            Unknown("report.missing.deeper"),
            Unknown("absent"),
            Unknown("absent.field"),
            Unknown("report.missing == 1"),
            Unknown("report.missing == report.missing"),
            Unknown("report.missing != null"),
            Unknown("report.missing + 1"),
            Unknown("1 < report.missing"),
            Unknown("report.missing in [1]"),
            Unknown("1 in report.missing"),
            Unknown("size(report.missing)"),
            Unknown("report.missing.size()"),
            Unknown("report.map['b']"),
            Unknown("report.items[report.missing]"),
            Is("has(report.passed)", json!(true)),
            Is("has(report.missing)", json!(false)),
            Is("has(report.missing.deeper)", json!(false)),
            Is("has(absent.field)", json!(false)),
            Is("has(report.nothing)", json!(true)),
            Is("has(report.hidden)", json!(true)),
            Is(
                "has(report.hidden.passed) && report.hidden.passed == 2",
                json!(true),
            ),
            Is("has(report.map['b'].c)", json!(false)),
            Is("!has(report.missing) || report.missing > 0", json!(true)),
            Fails("has(report.passed.x)", "`.` does not take int and string"),
            Fails(
                "has(report.nothing.x)",
                "`.` does not take null_type and string",
            ),
            Is("report.nothing == null", json!(true)),
            Is("report.nothing", json!(null)),
            Is("report.passed == null", json!(false)),
            Fails(
                "report.nothing.field",
                "`.` does not take null_type and string",
            ),
            Fails("report.text.field", "`.` does not take string and string"),
            Fails("report.nothing + 1", "`+` does not take null and int"),
            Is("report.map['a']", json!(1)),
            Is("stages['phase-1'].complete", json!(true)),
            Unknown("stages['phase-2'].complete"),
            Is("'a' in report.map", json!(true)),
            Is("'b' in report.map", json!(false)),
            Is("report.hidden", json!({ "passed": 2 })),
            Is("report.items", json!([1, 2])),
            Fails("report.items[2]", "an index is past the end of its list"),
            Is("report.no", json!(false)),
            // What decides does not need the rest.
            Is("report.passed == 3 || absent.x.y", json!(true)),
        ],
    );
}

#[test]
fn golden_values() {
    let bindings = json!({
        "i": 5, "big": i64::MAX, "huge": u64::MAX, "d": 2.5, "one": 1.0, "zero": 0.0, "s": "abc",
        "now": "2026-12-01T00:00:00Z", "tiny": 1e-320,
    });
    assert_rows(
        &bindings,
        &[
            Is("i * 2", json!(10)),
            Is("i / 2", json!(2)),
            Is("-i / 2", json!(-2)),
            Is("-i % 3", json!(-2)),
            Is("i - 7", json!(-2)),
            Is("d * 2.0", json!(5.0)),
            Is("d + one", json!(3.5)),
            Fails("d * 2", "`*` does not take float and int"),
            Fails("i + 1.0", "`+` does not take int and float"),
            Is("d * double(i)", json!(12.5)),
            Is("int(d)", json!(2)),
            Is("string(i) + s", json!("5abc")),
            Is("int('42')", json!(42)),
            Is("double('0.5')", json!(0.5)),
            Is("bool('true')", json!(true)),
            Is("big", json!(i64::MAX)),
            Fails("big + 1", "`+` overflows"),
            Fails("big * 2", "`*` overflows"),
            Is("huge == 18446744073709551615.0", json!(true)),
            Fails("i / 0", "division by zero"),
            Fails("i % 0", "division by zero"),
            Fails("d / zero", "a number is not finite"),
            Fails("d / zero > 1.0", "a number is not finite"),
            Fails("zero / zero == zero", "a number is not finite"),
            Fails("1.5e308 * 10.0", "a number is not finite"),
            Fails("double('NaN')", "a number is not finite"),
            Is("one == 1", json!(true)),
            Is("1 == one", json!(true)),
            Is("i > d", json!(true)),
            Is("d <= i", json!(true)),
            Is("2.5 in [1, d]", json!(true)),
            Is("1 in [one]", json!(true)),
            Is("s == 'abc'", json!(true)),
            Is("'3' == 3", json!(false)),
            Is("true == 1", json!(false)),
            Fails("true + 1", "`+` does not take bool and int"),
            Fails("'a' < 1", "`<` does not take string and int"),
            Is("now >= '2026-11-30T23:59:59Z'", json!(true)),
            Is("now < '2026-11-30T23:59:59Z'", json!(false)),
            Is("size(s)", json!(3)),
            Is("size('é😀')", json!(2)),
            Is("s.size()", json!(3)),
            Is(
                "s.contains('b') && s.startsWith('a') && s.endsWith('c')",
                json!(true),
            ),
            Fails("i.contains('b')", "`contains` does not take int and string"),
            Is("[1, 2] + [3]", json!([1, 2, 3])),
            Is("{'a': {'b': [d]}}", json!({ "a": { "b": [2.5] } })),
            Fails(
                "{1: 2}",
                "the result is a map with a key that is not a text",
            ),
            Fails("{'a': 1, 'a': 2}", "a map repeats a key"),
            Fails("{2.5: 1}", "float is not a type of a key"),
            Fails("int", "the result is a type, which JSON does not have"),
            Fails("int('x')", "`int` does not take this value"),
        ],
    );
}

#[test]
fn golden_macros() {
    let bindings = json!({
        "xs": [3, 1, 2], "none": [], "rows": [{ "ok": true }, {}, { "ok": false }],
        "good": [{ "ok": true }, {}], "bad": [{}, { "ok": false }], "map": { "b": 2, "a": 1, "c": 3 },
        "zero": 0, "report": { "items": [{ "ok": 1 }] },
    });
    assert_rows(
        &bindings,
        &[
            Is("xs.all(x, x > 0)", json!(true)),
            Is("xs.exists(x, x > 2)", json!(true)),
            Is("xs.exists_one(x, x > 2)", json!(true)),
            Is("xs.exists_one(x, x > 1)", json!(false)),
            Is("xs.map(x, x * 2)", json!([6, 2, 4])),
            Is("xs.map(x, x > 1, x * 2)", json!([6, 4])),
            Is("xs.filter(x, x > 1)", json!([3, 2])),
            Is("size(xs.filter(x, x > 1)) == 2", json!(true)),
            Is("none.all(x, x > 0)", json!(true)),
            Is("none.exists(x, x > 0)", json!(false)),
            Is("none.map(x, x)", json!([])),
            // An absent field of one element does not hide another that decides.
            Is("rows.exists(r, r.ok)", json!(true)),
            Is("rows.all(r, r.ok)", json!(false)),
            Unknown("good.all(r, r.ok)"),
            Is("bad.all(r, r.ok)", json!(false)),
            Unknown("bad.exists(r, r.ok)"),
            Unknown("rows.exists_one(r, r.ok)"),
            Unknown("rows.map(r, r.ok)"),
            Unknown("rows.filter(r, r.ok)"),
            Is("rows.filter(r, has(r.ok) && r.ok)", json!([{ "ok": true }])),
            Is("rows.map(r, has(r.ok))", json!([true, false, true])),
            Is(
                "rows.map(r, absent || !has(r.ok) || true)",
                json!([true, true, true]),
            ),
            Is(
                "rows.all(r, !has(r.ok) || absent == 1 || true)",
                json!(true),
            ),
            Unknown("absent.all(x, x)"),
            Unknown("xs.all(x, x > 0 && absent)"),
            Is("xs.all(x, x > 5 && absent)", json!(false)),
            // Unknown goes before a failure, whatever the order of the elements.
            Unknown("[1, 2].all(x, x == 1 ? absent : 1 / zero == 1)"),
            Unknown("[2, 1].all(x, x == 1 ? absent : 1 / zero == 1)"),
            Is("[1, 2, 3].exists(x, x == 3 || 1 / zero == 1)", json!(true)),
            Fails("[1, 2].exists(x, 1 / zero == 1)", "division by zero"),
            Fails("xs.map(x, x / zero)", "division by zero"),
            Fails("zero.all(x, x)", "int where list is needed"),
            Fails("zero.map(x, x)", "int where iterable is needed"),
            // A map is walked in the order of its keys.
            Is("map.map(k, k)", json!(["a", "b", "c"])),
            Is("map.map(k, map[k])", json!([1, 2, 3])),
            Is("map.exists(k, map[k] == 3)", json!(true)),
            // The variable hides a root of its name, inside the macro only.
            Is(
                "report.items.all(report, report.ok == 1) && has(report.items)",
                json!(true),
            ),
            Is("xs.map(xs, xs + 1)", json!([4, 2, 3])),
        ],
    );
}

#[test]
fn answers_are_the_same_every_time() {
    let bindings = json!({ "m": { "a": 1, "b": 2, "c": 3, "d": "x", "e": null } });
    for text in [
        "m.map(k, k)",
        "m.filter(k, k > 'b')",
        "m.map(k, m[k] * 2)",
        "m.exists_one(k, m[k] > 2)",
    ] {
        let first = answer(text, &bindings);
        for _ in 0..20 {
            assert_eq!(answer(text, &bindings), first, "{text}");
        }
    }
}

fn defect(text: &str) -> ExpressionDefect {
    match Expression::parse(text) {
        Ok(_) => panic!("{text} parses"),
        Err(defect) => defect,
    }
}

#[test]
fn parse_defects_have_their_place() {
    let rows = [
        ("", 0..0, "the expression is empty; write one"),
        ("   ", 0..3, "the expression is empty; write one"),
        ("a +", 3..3, "the expression ends too early; complete it"),
        (
            "a b",
            2..3,
            "`b` is too much; remove it or put an operator before it",
        ),
        (
            "'é😀' == a +",
            15..15,
            "the expression ends too early; complete it",
        ),
        (
            "'é😀' bcd",
            9..12,
            "`bcd` is too much; remove it or put an operator before it",
        ),
        ("(a", 2..2, "`)` is missing; add it here"),
        (
            "a)",
            1..2,
            "`)` is too much; remove it or put an operator before it",
        ),
        ("a ? b", 5..5, "the expression ends too early; complete it"),
        (
            "a ==\n '😀' + é",
            15..17,
            "`é` has no meaning here; remove it or put it in quotes",
        ),
        (
            "a == 'bc",
            5..8,
            "the text literal is not closed or has an unknown escape; close it or double the backslash",
        ),
        (
            "'é' == let",
            8..11,
            "`let` is a reserved word; a field of this name is written `['let']`",
        ),
        (
            "'😀' == has(a)",
            14..15,
            "`has` takes a field, as in `has(report.passed)`",
        ),
        (
            "xs.map(1, 2)",
            7..8,
            "the first argument of a macro is a new name, as in `all(x, x > 0)`",
        ),
        (
            "99999999999999999999",
            0..20,
            "the whole number is too large; write it with `.0`",
        ),
        (
            "1e999",
            0..5,
            "the number is too large; write a smaller one",
        ),
        (
            "1 + 2u",
            4..6,
            "there are no unsigned numbers; write the number without `u`",
        ),
        (
            "b'x' == a",
            0..4,
            "there are no byte strings; write the text without `b`",
        ),
        ("'é' == .a", 9..10, "write `a` without the dot before it"),
    ];
    for (text, range, message) in rows {
        let found = defect(text);
        assert_eq!(
            (found.range, found.message.as_str()),
            (range, message),
            "{text}"
        );
    }
}

#[test]
fn parse_defects_suggest_operators() {
    for (text, range, meant) in [
        ("'é' == a and b", 10..13, "&&"),
        ("a or b", 2..4, "||"),
        ("a = b", 2..3, "=="),
        ("a & b", 2..3, "&&"),
    ] {
        let found = defect(text);
        assert_eq!(
            (found.range, found.suggestion.as_deref()),
            (range, Some(meant)),
            "{text}"
        );
    }
}

#[test]
fn a_text_has_at_most_two_kib() {
    let text = format!("'{}'", "a".repeat(2046));
    assert_eq!(text.len(), 2048);
    assert!(Expression::parse(&text).is_ok());
    let longer = format!("{text} ");
    assert_eq!(defect(&longer).range, 0..2049);
    assert_eq!(
        defect(&longer).message,
        "the expression has 2049 bytes; shorten it to at most 2048"
    );
}

#[test]
fn deep_nesting_is_a_defect() {
    for depth in [100, 1000, 5000] {
        let text = format!("{}1{}", "(".repeat(depth), ")".repeat(depth));
        assert!(Expression::parse(&text).is_err(), "{depth}");
    }
    let text = format!("{}1{}", "(".repeat(40), ")".repeat(40));
    assert!(Expression::parse(&text).is_ok());
}

#[test]
fn hostile_texts_are_refused_or_evaluated() {
    let units = [
        "(",
        ")",
        "[",
        "]",
        "{",
        "}",
        "!",
        "-",
        "a.",
        ".a",
        "a?",
        "a?b:",
        "1+",
        "1+1+",
        "a[0]",
        "[0]",
        "&&",
        "a&&",
        "a||!",
        "'",
        "\"",
        "\\",
        "has(",
        "has(a.b)||",
        "f(",
        ".f(",
        "{'a':",
        "x.map(x,",
        "[].map(x,x)+",
        "\u{0}",
        "😀",
        "é.",
        "//",
        "1.",
        "0x",
        "1e",
        "r'",
        "'''",
        "a in ",
        "T{",
        "-1-",
        "!-",
        "\n",
        "\r\n",
        "@",
        "`",
        "$",
    ];
    let nothing = serde_json::Map::new();
    for unit in units {
        for tail in ["", "1", "a"] {
            let count = (2048 - tail.len()) / unit.len();
            for count in [1, 2, 30, count] {
                let text = format!("{}{tail}", unit.repeat(count));
                match Expression::parse(&text) {
                    Ok(expression) => {
                        let _ = expression.evaluate(&nothing);
                        let _ = expression.check(&Scope::new(), Bool);
                    }
                    Err(defect) => assert!(text.get(defect.range).is_some(), "{unit}"),
                }
            }
        }
    }
}

#[test]
fn the_deepest_expression_is_evaluated_on_a_small_stack() {
    let sum = format!("a{}", " + a".repeat(46));
    let not = (0..20).fold("a == 1".to_owned(), |inner, _| {
        format!("(!({inner}) == true)")
    });
    let list = format!("{}a{}", "[".repeat(46), "]".repeat(46));
    let choice = format!("{}1", "a == 2 ? 0 : ".repeat(46));
    let logic = (0..40).fold("b".to_owned(), |inner, _| format!("(b || (b && {inner}))"));
    for text in [sum, not, list, choice, logic] {
        if let Ok(expression) = Expression::parse(&text) {
            let bindings = json!({ "a": 1, "b": false });
            let thread = std::thread::Builder::new().stack_size(1 << 20);
            let thread = thread.spawn(move || expression.evaluate(bindings.as_object().unwrap()));
            assert!(thread.unwrap().join().unwrap().is_ok(), "{text}");
        }
    }
}

fn object(fields: &[(&str, Type)], closed: bool) -> Type {
    Type::Object {
        fields: fields
            .iter()
            .map(|(name, known)| ((*name).to_owned(), known.clone()))
            .collect(),
        closed,
    }
}

fn scope() -> Scope {
    let items = Type::List(Box::new(object(
        &[("ok", Type::Bool), ("n", Type::Int)],
        true,
    )));
    [
        (
            "report",
            object(
                &[
                    ("passed", Type::Int),
                    ("share", Type::Double),
                    ("items", items),
                ],
                true,
            ),
        ),
        ("observed", Type::Any),
        (
            "task",
            object(&[("count", Type::Int), ("name", Type::Text)], false),
        ),
        (
            "reading",
            object(
                &[
                    ("at", Type::Time),
                    ("used", Type::Number),
                    ("status", Type::Text),
                ],
                true,
            ),
        ),
        ("claim", object(&[("done", Type::Bool)], true)),
    ]
    .map(|(name, known)| (name.to_owned(), known))
    .into()
}

#[test]
fn check_accepts() {
    for (text, expected) in [
        ("report.passed == task.count", Bool),
        ("report.share * 2.0", Number),
        ("reading.used * 2", Number),
        ("report.passed > 0.5", Bool),
        ("observed.a.b[0] && !observed.c", Bool),
        ("task.anything == 1", Bool),
        (
            "has(reading.at) && reading.at < '2026-12-01T00:00:00Z'",
            Bool,
        ),
        ("report.items.all(i, i.ok && i.n > 0)", Bool),
        (
            "size(report.items.filter(i, i.ok)) + size(report.items.map(i, i.n))",
            Number,
        ),
        ("claim.done ? report.share : 0.0", Number),
        ("observed.x", Number),
        ("task['count'] + 1", Number),
        ("'a' in observed.map && 1 in [1, 2]", Bool),
        ("report.passed == null", Bool),
        ("{'a': 1}.a", Number),
        ("task.name", Any),
        ("double(report.passed) / double(task.count)", Number),
        ("-report.share", Number),
    ] {
        assert_eq!(parsed(text).check(&scope(), expected), [], "{text}");
    }
}

#[test]
fn check_finds() {
    let none: Option<&str> = None;
    for (text, expected, range, suggestion) in [
        ("reprot.passed == 1", Bool, 0..6, Some("report")),
        ("'é😀' == observd.x", Bool, 12..19, Some("observed")),
        (
            "'é' == 'x' && report.pased == 1",
            Bool,
            22..27,
            Some("passed"),
        ),
        ("has(report.pased)", Bool, 11..16, Some("passed")),
        ("has(report . pased)", Bool, 13..18, Some("passed")),
        ("report['pased'] == 1", Bool, 7..14, Some("passed")),
        ("report.zzz == 1", Bool, 7..10, none),
        ("sise(task.name) == 1", Bool, 0..4, Some("size")),
        (
            "task.name.startswith('a')",
            Bool,
            10..20,
            Some("startsWith"),
        ),
        ("task.name.matches('a')", Bool, 10..17, none),
        ("timestamp(reading.at) == 1", Bool, 0..9, none),
        ("report.passed", Bool, 0..13, none),
        (" report.passed == 1 ", Number, 1..19, none),
        ("report.share * 2", Number, 15..16, Some("2.0")),
        ("2 * report.share", Number, 0..1, Some("2.0")),
        ("report.share * report.passed", Number, 13..14, none),
        ("1 + 2.0", Number, 0..1, Some("1.0")),
        ("claim.done && report.passed", Bool, 14..27, none),
        ("!task.name", Bool, 1..10, none),
        ("report.passed ? 1 : 2", Number, 0..13, none),
        ("report.passed == 'x'", Bool, 14..16, none),
        ("task.name < 1", Bool, 10..11, none),
        ("task.name - 'x'", Any, 10..11, none),
        ("reading.at + 1", Any, 11..12, none),
        ("report.passed.x == 1", Bool, 14..15, none),
        ("1 in task.name", Bool, 2..4, none),
        ("task.name.all(x, true)", Bool, 0..9, none),
        ("report.items.all(i, i.okay)", Bool, 22..26, none),
        ("report.items.all(i, i.n)", Bool, 20..23, none),
        ("report.items.map(i, i.ok) == 1", Bool, 26..28, none),
        ("report.items.all(i, i.ok) && i.ok", Bool, 29..30, none),
        (
            "observed.a.all(x, observed.b.all(y, x == y))",
            Bool,
            18..43,
            none,
        ),
        ("size(report.passed) == 1", Bool, 0..4, none),
        ("size() == 1", Bool, 0..4, none),
        ("report.items.all(i)", Bool, 13..16, none),
        ("contains(task.name, 'x')", Bool, 0..8, none),
        ("report.passed.contains('x')", Bool, 0..13, none),
    ] {
        let found = parsed(text).check(&scope(), expected);
        let found: Vec<_> = found
            .iter()
            .map(|defect| (defect.range.clone(), defect.suggestion.as_deref()))
            .collect();
        assert_eq!(found, [(range, suggestion)], "{text}");
    }
}

#[test]
fn check_finds_all_in_order() {
    let found =
        parsed("reprot.a == 1 && report.b == 2 && report.share * 2 > 1.0").check(&scope(), Number);
    assert_eq!(
        found
            .iter()
            .map(|defect| defect.range.clone())
            .collect::<Vec<_>>(),
        [0..6, 0..56, 24..25, 49..50]
    );
    let messages: Vec<_> = found.iter().map(|defect| defect.message.as_str()).collect();
    assert_eq!(
        messages,
        [
            "`reprot` is not known here",
            "the expression is true or false; a number is needed here",
            "there is no field `b`; the fields are items, passed, share",
            "`*` does not mix whole numbers with others; write `2.0`",
        ]
    );
}

#[test]
fn expressions_are_shared_and_equal_by_text() {
    fn assert_send_sync<T: Send + Sync + 'static>(_: &T) {}
    let expression = parsed("a == 1");
    assert_send_sync(&expression);
    assert_eq!(expression.clone(), parsed("a == 1"));
    assert_ne!(expression, parsed("a  == 1"));
    assert_eq!(format!("{expression:?}"), "Expression(\"a == 1\")");
}

/// A text for one of: true, false, unknown, failure.
fn operand() -> impl Strategy<Value = &'static str> {
    prop::sample::select(vec![
        "t",
        "f",
        "u",
        "o.u.x",
        "1 / e == 1",
        "has(o.x)",
        "[u].all(x, x)",
        "!t",
        "e",
    ])
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, cases: 128, ..ProptestConfig::default() })]

    #[test]
    fn parse_never_panics(text in any::<String>()) {
        let _ = Expression::parse(&text);
    }

    #[test]
    fn parse_never_panics_on_pieces(pieces in prop::collection::vec(prop::sample::select(vec![
        "a", ".", "(", ")", "[", "]", "{", "}", "&&", "||", "!", "-", "+", "1", "2.5", "'x'", ",", ":", "?", " ", "has",
        "all", "map", "x", "in", "é", "😀", "\n", "'", "==", "true", "null", "`", "1u", "b'x'", "\\",
    ]), 0..24)) {
        let text = pieces.concat();
        if let Err(defect) = Expression::parse(&text) {
            prop_assert!(text.get(defect.range).is_some());
        }
    }

    #[test]
    fn logic_is_commutative(left in operand(), right in operand(), or in any::<bool>()) {
        let sign = if or { "||" } else { "&&" };
        let known = |text: String| answer(&text, &truth()).map_err(|_| ());
        prop_assert_eq!(known(format!("({left}) {sign} ({right})")), known(format!("({right}) {sign} ({left})")));
        let list = |a, b| known(format!("[1, 2].{}(n, n == 1 ? ({a}) : ({b}))", if or { "exists" } else { "all" }));
        prop_assert_eq!(list(left, right), list(right, left));
        prop_assert_eq!(list(left, right), known(format!("({left}) {sign} ({right})")));
    }
}
