//! Random protocols of the whole language, the files they name, and their text in TOML.
#![allow(unreachable_pub, reason = "the part belongs to one test binary")]

use std::collections::BTreeMap;
use std::fs;
use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};

use prereg::protocol::check::{check, is_weakness};
use prereg::protocol::defect::Code;
use prereg::protocol::folder::{Folder, FolderFault};
use prereg::units::Digest;
use serde_json::{Map, Value, json};

/// A stream of numbers that decides; where it ends, the first choice is taken, so that what a
/// test fails on shrinks to a small protocol.
pub struct Choices {
    stream: Vec<u16>,
    at: usize,
    after: u16,
}

impl Choices {
    pub fn of(stream: Vec<u16>) -> Self {
        Self {
            stream,
            at: 0,
            after: 0,
        }
    }

    /// Every table and every key.
    pub fn full() -> Self {
        Self {
            stream: Vec::new(),
            at: 0,
            after: 1,
        }
    }

    fn below(&mut self, bound: usize) -> usize {
        let number = self.stream.get(self.at).copied().unwrap_or(self.after);
        self.at += 1;
        usize::from(number) % bound
    }

    fn flip(&mut self) -> bool {
        self.below(2) == 1
    }

    fn pick<T: Clone>(&mut self, from: &[T]) -> T {
        from[self.below(from.len())].clone()
    }

    fn word(&mut self, words: &str) -> Value {
        let words: Vec<&str> = words.split(' ').collect();
        Value::from(self.pick(&words))
    }

    /// Returns some of a list, in its order.
    fn some(&mut self, words: &str) -> Vec<Value> {
        let words = words.split(' ').map(Value::from);
        words.filter(|_| self.flip()).collect()
    }

    fn duration(&mut self) -> Value {
        let texts = ["45m", "1ms", "90s", "720h", "002m", "2592000s", "43200m"];
        Value::from(self.pick(&texts))
    }

    fn size(&mut self) -> Value {
        Value::from(self.pick(&["32MiB", "1B", "8388607GiB", "64KiB", "999999999999B"]))
    }

    fn share(&mut self) -> Value {
        self.pick(&[
            json!("1/2"),
            json!(0.25),
            json!(1),
            json!("7/7"),
            json!("3/100"),
        ])
    }

    fn time(&mut self) -> Value {
        let texts = [
            "2026-12-24T00:00:00Z",
            "1970-01-01T00:00:00Z",
            "2024-02-29T23:59:59.5Z",
            "2000-02-29T12:00:00.123456Z",
        ];
        Value::from(self.pick(&texts))
    }

    fn count(&mut self) -> Value {
        self.pick(&[json!(2), json!(1000), json!("unlimited"), json!(3)])
    }
}

/// A table that is written key by key.
#[derive(Default)]
struct Table(Map<String, Value>);

impl Table {
    fn with(mut self, key: &str, value: impl Into<Value>) -> Self {
        self.0.insert(key.to_owned(), value.into());
        self
    }

    /// Adds a key or leaves it out.
    fn may<V: Into<Value>>(
        self,
        choices: &mut Choices,
        key: &str,
        value: impl FnOnce(&mut Choices) -> V,
    ) -> Self {
        if choices.flip() {
            let value = value(choices);
            self.with(key, value)
        } else {
            self
        }
    }
}

impl From<Table> for Value {
    fn from(table: Table) -> Self {
        Self::Object(table.0)
    }
}

/// Returns a protocol that is sound but for its limitations.
pub fn protocol(c: &mut Choices) -> Value {
    // A matrix study has one fixture and may do without an analysis.
    let matrix = c.below(5) == 4;
    let staged = c.below(3) == 2;
    // A draw that grows has no stages, and an open frame has a draw that grows.
    let grows = c.below(4) == 3 && !matrix && !staged;
    let open = grows && c.flip();
    let judged = c.flip();
    let claimed = c.flip();
    let observes = c.flip();
    let reads = c.flip();
    let several = if matrix { c.below(2) } else { 1 + c.below(2) };
    let arms: Vec<&str> = ["a", "b", "c"][..=several].to_vec();
    let analysed = (!matrix || c.flip()) && several > 0;
    let counted = c.below(4) == 3 && arms.len() == 2;

    let tasks = tasks(c, open);
    let splits = tasks.0.contains_key("splits");
    let allocation = allocation(c, matrix, staged, [counted, grows]);
    let single = allocation.0.get("repeats") == Some(&json!(1));
    // Containment is equal for all arms, so it is chosen once.
    let tiers = ["pidns_cgroup", "pidns", "cgroup", "subreaper", "pgroup"];
    let executed = c.flip();
    let tier = if executed { c.pick(&tiers) } else { "pgroup" };
    let mut whole = Table::default()
        .with("language", 1)
        .with("study", study(c))
        .with("tasks", tasks)
        .with(
            "arms",
            arms.iter()
                .enumerate()
                .map(|(i, id)| arm(c, id, i == 0, tier))
                .collect::<Vec<Value>>(),
        )
        .with("allocation", allocation);
    // A matrix study has one task.
    if matrix || grows || c.flip() {
        whole = whole.with("draw", draw(c, [open, grows], matrix));
    }
    let seeded = whole
        .0
        .get("draw")
        .is_some_and(|draw| draw.get("seed").is_some());
    let shuffled = whole.0["allocation"].get("arms") == Some(&json!("shuffled"));
    if shuffled
        && !seeded
        && let Some(allocation) = whole.0.get_mut("allocation")
    {
        allocation["arms"] = json!("williams");
    }
    let outcomes = outcomes(c, judged, claimed, observes);
    if c.flip() && (analysed || !matrix) {
        whole = whole.with("controls", controls(c));
    }
    if staged {
        let fits = c.flip();
        whole = whole.with("stages", stages(c, fits, reads));
        if fits || c.flip() {
            whole = whole.with("cutoff", json!({ "at": c.time() }));
        }
    } else {
        whole = whole.may(c, "cutoff", |c| json!({ "at": c.time() }));
    }
    let elsewhere = whole.0["arms"].to_string().contains("elsewhere");
    whole = whole
        .may(c, "attempts", attempts)
        .may(c, "outage", |c| outage(c, counted && !matrix))
        .may(c, "backoff", |c| json!({ "initial": "1ms", "max": c.duration(), "reset_margin": c.duration(), "wait_max": c.duration() }))
        .may(c, "budgets", budgets)
        .may(c, "breaker", |c| {
            Table::default()
                .with("failures", c.pick(&[1, 3, 1000]))
                .may(c, "arms", |c| c.some("a"))
                .may(c, "external", |c| c.flip())
        })
        .may(c, "switch", |_| json!({ "file": "enabled" }))
        .may(c, "preflight", |_| json!({ "command": ["./judge.sh", "{arm.id}"] }))
        .may(c, "probes", probes)
        .may(c, "checkpoint", |c| json!({ "arms": c.some("a") }))
        .may(c, "scoring", |c| {
            Table::default()
                .may(c, "unjudged", |_| "run.exit == 99")
                .may(c, "on_timeout", |c| c.word("score unjudged"))
                .may(c, "on_error_stop", |c| c.word("score unjudged"))
        })
        .may(c, "manipulation_check", |_| json!({ "a": "run.exit == 0" }))
        .may(c, "artefacts", |c| {
            let kept = if splits { vec!["trial"] } else { Vec::new() };
            Table::default()
                .with("keep", c.some("claim.json **/*.patch"))
                .may(c, "keep_diff_for", |_| kept)
                .may(c, "retain", |c| c.word("always on_failure never"))
        })
        .may(c, "evidence", |c| json!({ "required": if elsewhere { json!([]) } else { c.some("measurement").into() } }))
        .may(c, "actors", |c| json!({ "kinds": c.some("user agent ci") }));
    if executed {
        whole = whole.with("execution", execution(c, tier));
    }
    if reads {
        let waits = whole.0.contains_key("backoff");
        whole = whole
            .with("readings", readings(c))
            .may(c, "stops", |c| stops(c, staged))
            .may(c, "holds", |c| holds(c, waits));
    }
    if claimed {
        whole = whole.with(
            "claim",
            json!({ "file": "claim.json", "done": "claim.done" }),
        );
    }
    if observes {
        let requests = asks(&whole);
        whole = whole.with("observation", observation(c, requests));
    }
    if judged {
        whole = whole.with("judge", judge(c));
    }
    whole = whole.with("outcomes", outcomes);
    if analysed {
        let few = whole
            .0
            .get("draw")
            .is_some_and(|draw| draw.get("size") == Some(&json!(1)));
        let mut analysis = analysis(c, &arms, single);
        // Looks are at shares of a draw that is known, and see a task each.
        if grows || few {
            analysis.0.remove("looks");
        }
        whole = whole.with("analysis", analysis);
    }
    if matrix && let Some(Value::Array(controls)) = whole.0.get_mut("controls") {
        for control in controls {
            control["outcome"] = json!("passed");
        }
    }
    whole.into()
}

fn study(c: &mut Choices) -> Table {
    Table::default()
        .with("id", c.pick(&["base", "B2.x-y_z", "cone"]))
        .with("title", "A title")
        .with("question", "Is it so?")
        .with("hypotheses", c.some("yes no"))
        .with("kind", c.word("confirmatory exploratory"))
        .may(c, "supersedes", |c| {
            let digest = "0123456789abcdef".repeat(4);
            let digest = if c.flip() { format!("sha256:{digest}") } else { digest };
            json!({ "study": "earlier", "registration": digest, "reason": "a slip", "seen": "nothing" })
        })
}

fn tasks(c: &mut Choices, open: bool) -> Table {
    let mut table = Table::default().with("frame", if open { "open" } else { "tasks.jsonl" });
    if open {
        table = table.with("fields", json!({
            "budget": c.word("integer number"), "repo": "string", "dir": "string", "hard": "boolean", "until": "time", "kept": "integer", "size": "number"
        }));
    }
    table.may(
        c,
        "splits",
        |_| json!({ "main": "confirmatory", "trial": "pilot" }),
    )
}

fn draw(c: &mut Choices, [open, grows]: [bool; 2], single: bool) -> Table {
    let methods = ["shuffled", "listed", "ranked"];
    let method = if open { "listed" } else { c.pick(&methods) };
    let mut table = Table::default().with("method", method);
    if method == "shuffled" || c.flip() {
        table = table.with("seed", "a text");
    }
    if method == "ranked" {
        table = table.with("classes", json!(["^t([0-9]+)$"]));
    }
    if single {
        return table.with("size", 1);
    }
    let table = table.may(c, "size", |c| c.pick(&[5, 1, 2]));
    if grows {
        return table.with("grows", true);
    }
    table.may(c, "grows", |_| false)
}

fn env(c: &mut Choices) -> Value {
    c.pick(&[
        json!({ "LC_ALL": "C" }),
        json!({}),
        json!({ "_x9": "{task.id}" }),
    ])
}

fn workspace(c: &mut Choices) -> Value {
    c.pick(&[
        json!("empty"),
        json!({ "git": { "url": "https://example.org/r.git", "commit": "0123456789".repeat(4) } }),
        json!({ "copy": "{task.dir}" }),
    ])
}

/// The keys that `[execution]` and an arm share.
fn limits(c: &mut Choices, table: Table, tier: &str) -> Table {
    table
        .may(c, "workspace", workspace)
        .may(c, "grace", |c| c.pick(&["10s", "1ms", "1s"]))
        .may(c, "env", env)
        .may(c, "env_pass", |c| c.some("PATH HOME"))
        .may(c, "requests", |_| json!({ "effort": "high" }))
        .may(c, "output_max", Choices::size)
        .may(c, "memory_max", Choices::size)
        .may(c, "processes_max", |c| c.pick(&[512, 1, 1_000_000]))
        .may(c, "cpu_time_max", Choices::duration)
        .may(c, "free_space_min", Choices::size)
        .may(c, "containment", |_| tier)
        .may(c, "cleanup", |_| json!(["rm", "{run.label}"]))
}

fn execution(c: &mut Choices, tier: &str) -> Table {
    let table = Table::default().with("timeout", c.pick(&["45m", "20s", "1h"]));
    limits(c, table, tier).with("containment", tier)
}

fn arm(c: &mut Choices, id: &str, is_reference: bool, tier: &str) -> Value {
    let table = Table::default()
        .with("id", id)
        .with("command", json!(["./judge.sh", id]));
    if is_reference && !c.flip() {
        return table.into();
    }
    let table = table
        .may(c, "executed", |c| c.word("here elsewhere"))
        .may(c, "files", |_| json!({ "CLAUDE.md": "a.txt" }))
        .may(c, "timeout", |c| c.pick(&["30m", "20s"]));
    let table = limits(c, table, tier);
    // What the reference has is a difference of every other arm too.
    let all = "command files executed workspace timeout grace env env_pass requests output_max \
               memory_max processes_max cpu_time_max free_space_min containment cleanup";
    let all: Vec<&str> = all.split_whitespace().collect();
    table.with("differs", all).into()
}

fn controls(c: &mut Choices) -> Value {
    let mut made = Vec::new();
    for (id, expect) in [("right", "all_resolved"), ("nothing", "none_resolved")] {
        if made.is_empty() || c.flip() {
            let control = Table::default()
                .with("id", id)
                .with("command", json!(["true"]))
                .with("expect", expect);
            made.push(Value::from(control.may(c, "outcome", |_| "passed")));
        }
    }
    if c.flip() {
        made.reverse();
    }
    made.into()
}

fn allocation(c: &mut Choices, matrix: bool, staged: bool, [counted, grows]: [bool; 2]) -> Table {
    let mut table = Table::default();
    if matrix {
        table = table.with("nest", json!(["arm", "repeat"]));
    } else {
        let nests = [
            json!(["task", "repeat", "arm"]),
            json!(["arm", "task", "repeat"]),
            json!(["repeat", "arm", "task"]),
        ];
        // An order by counts goes task by task, and a draw that grows appends tasks.
        let some = if counted || grows {
            &nests[..1]
        } else {
            &nests[..]
        };
        table = table.may(c, "nest", |c| c.pick(some));
    }
    if !staged {
        // Some intervals are for one repeat alone.
        table = table.with("repeats", c.pick(&[3, 1, 1, 2]));
    }
    let by_counts = counted && !matrix;
    table = if by_counts {
        table.with("arms", "alternating").with("by", "counts")
    } else {
        table
            .may(c, "arms", |c| {
                c.word("alternating counterbalanced williams shuffled")
            })
            .may(c, "by", |_| "plan")
    };
    table
        .may(c, "block", |c| {
            c.word(if by_counts { "task" } else { "task pair" })
        })
        .may(c, "serial", |c| c.word("study block none"))
        .may(c, "runs_max", |c| c.pick(&[1, 4, 10_000]))
        .may(c, "run_seed", |_| "sha256_task_repeat")
}

fn stages(c: &mut Choices, fits: bool, reads: bool) -> Value {
    let mut first = Table::default()
        .with("id", "phase-1")
        .with("repeats", c.pick(&[3, 1]));
    if reads {
        first = first.may(c, "opens", |_| "readings.quota.share < 0.5");
    }
    let second = Table::default().with("id", "phase-2").with("repeats", 2);
    let mut second = second.may(c, "opens", |_| "stages['phase-1'].complete && gates.go");
    if fits {
        second = second.with(
            "fits",
            json!({ "margin": c.pick(&["1.1", "2"]), "estimate": "median_complete_block" }),
        );
    }
    json!([Value::from(first), Value::from(second)])
}

fn attempts(c: &mut Choices) -> Table {
    let table = Table::default()
        .may(c, "stale_after", |c| c.pick(&["6h", "2h", "720h"]))
        .may(c, "late_report", |c| c.word("refuse until_closed"))
        .may(c, "voids_max", Choices::count);
    // A cause is named once: for a rerun by itself, or for one on request.
    let all = "unjudged failed timed-out cancelled lost stale".split(' ');
    let (by_itself, asked): (Vec<&str>, Vec<&str>) = all.partition(|_| c.flip());
    if c.flip() {
        table
            .with("per_slot", c.count())
            .may(c, "rerun", |_| by_itself)
            .may(c, "rerun_on_request", |_| asked)
    } else {
        table.may(c, "per_slot", |_| 1)
    }
}

fn outage(c: &mut Choices, counted: bool) -> Table {
    let table = Table::default()
        .with("window", "utc_hour")
        .with("error", "run.exit != 0")
        .with("ended_min", c.pick(&[4, 1, 100_000]))
        .with("error_share", c.share())
        .may(c, "errors_in", |c| c.word("every_arm any_arm"))
        .may(c, "pauses_starts", |c| c.flip());
    // An order by counts has no blocks.
    if counted {
        return table.with("voids", "run");
    }
    table.may(c, "voids", |c| c.word("block run"))
}

fn budgets(c: &mut Choices) -> Value {
    let cost = Table::default()
        .with("counts", "cost")
        .with("per", c.word("study task arm"))
        .with("max", c.pick(&["400 USD", "2.500000 USD"]));
    let cost = if c.flip() {
        cost.with("reserve", c.pick(&["1 USD", "2.50 USD"]))
            .with("unknown", c.word("reserve hold stop"))
    } else {
        cost.with("unknown", c.word("hold stop"))
    };
    let reruns = json!({ "counts": "reruns", "per": "study", "max": c.pick(&[10, 0]) });
    if c.flip() {
        json!([Value::from(cost), reruns])
    } else {
        json!([reruns, Value::from(cost)])
    }
}

fn probes(c: &mut Choices) -> Value {
    let text = Table::default()
        .with("id", "one")
        .with("command", json!(["claude", "--version"]))
        .may(c, "format", |_| "text")
        .may(c, "expect", |_| "2.1.0");
    let json = Table::default()
        .with("id", "two")
        .with("command", json!(["uname"]))
        .with("format", "json")
        .may(c, "expect", |c| {
            c.pick(&[json!({ "x": [1, { "y": true }] }), json!("a text")])
        })
        .may(c, "expect_absent", |_| json!(["proxy"]))
        .may(c, "record_only", |_| json!(["uptime"]));
    // The full protocol shows the one with every key first.
    json!([Value::from(json), Value::from(text)])
}

fn readings(c: &mut Choices) -> Value {
    let fields = json!({ "share": "number", "status": "string", "resets_at": "time", "count": "integer", "good": "boolean" });
    let quota = Table::default().with("id", "quota").with("fields", fields);
    let quota = if c.flip() {
        quota
            .with("from", "command")
            .with("command", json!(["./judge.sh"]))
    } else {
        quota.with("from", c.word("observation operator"))
    };
    json!([Value::from(quota.may(
        c,
        "unknown_when",
        |_| "has(reading.resets_at) && reading.resets_at < now"
    ))])
}

fn stops(c: &mut Choices, staged: bool) -> Value {
    let scopes = if staged {
        "study arm stage"
    } else {
        "study arm"
    };
    let stop = Table::default()
        .with("id", "weekly")
        .with("when", "readings.quota.share >= 0.95")
        .may(c, "shows", |_| "readings.quota.share")
        .may(c, "scope", |c| c.word(scopes))
        .may(c, "at", |c| c.word("start session"))
        .may(c, "unknown", |c| c.word("go hold stop"));
    json!([Value::from(stop)])
}

fn holds(c: &mut Choices, waits: bool) -> Value {
    let hold = Table::default()
        .with("id", "hourly")
        .with("when", "readings.quota.good && readings.quota.count > 3")
        .may(c, "shows", |_| "readings.quota.share")
        .may(c, "unknown", |c| c.word("go hold stop"));
    let hold = match waits && c.below(3) == 2 {
        true => hold,
        false => hold.with("until", "readings.quota.resets_at"),
    };
    json!([Value::from(hold)])
}

/// Returns whether an arm is asked to use a setting.
fn asks(whole: &Table) -> bool {
    let arms = whole.0.get("arms").and_then(Value::as_array);
    let tables = arms.into_iter().flatten().chain(whole.0.get("execution"));
    tables
        .into_iter()
        .any(|table| table.get("requests").is_some())
}

fn observation(c: &mut Choices, requests: bool) -> Table {
    let table = Table::default()
        .with("from", c.pick(&["stdout", "out/result.json"]))
        .may(c, "error_stop", |_| "observed.subtype == 'error'")
        .may(c, "cost", |_| "observed.cost");
    match requests {
        true => table.may(c, "effective", |_| json!({ "effort": "observed.effort" })),
        false => table,
    }
}

fn judge(c: &mut Choices) -> Table {
    Table::default()
        .may(c, "files", |_| json!({ "hidden/": "{task.dir}" }))
        .with("command", json!(["./judge.sh", "{task.id}"]))
        .with("report", "report.json")
        .with("schema", "report.schema.json")
        .with("timeout", c.duration())
}

fn outcomes(c: &mut Choices, judged: bool, claimed: bool, observes: bool) -> Value {
    let passed = if judged {
        "report.correct"
    } else {
        "run.exit == 0"
    };
    let mut made = vec![json!({
        "id": "passed", "kind": "binary", "value": passed, "better": "higher", "missing": c.pick(&[json!(0), json!(1), json!("available")])
    })];
    let value = if claimed {
        "claim.done && !outcomes.passed"
    } else {
        "!outcomes.passed"
    };
    made.push(json!({ "id": "false_claim", "kind": "binary", "value": value, "better": "lower", "missing": 0 }));
    for (kind, value) in [
        ("duration", "run.wall_ms"),
        ("number", "run.attempt"),
        (
            "money",
            if observes {
                "observed.cost"
            } else {
                "double(run.wall_ms)"
            },
        ),
    ] {
        let outcome = Table::default()
            .with("id", kind)
            .with("kind", kind)
            .with("value", value)
            .with("better", c.word("lower higher"));
        made.push(outcome.may(c, "missing", |_| "available").into());
    }
    made.into()
}

fn analysis(c: &mut Choices, arms: &[&str], single: bool) -> Table {
    let treatments: Vec<&str> = arms[1..].to_vec();
    let clustered = c.below(4) == 3;
    let paired = "t_cr2 sign_flip wilcoxon mcnemar_exact mcnemar_mid";
    let tests = match (clustered, single) {
        (true, _) => "t_cr2 sign_flip",
        (false, false) => "t_cr2 sign_flip wilcoxon",
        (false, true) => paired,
    };
    // A McNemar test is one of a binary outcome.
    let further = if tests == paired {
        "false_claim"
    } else {
        "false_claim duration number"
    };
    let comparison = |c: &mut Choices, table: Table, needed: bool| {
        let outcome = table.0.get("outcome").and_then(Value::as_str);
        let binary = matches!(outcome, Some("passed" | "false_claim"));
        let effects = if binary {
            "paired_diff ratio_of_means"
        } else {
            "paired_diff ratio_of_means geometric_ratio"
        };
        let mut table = table;
        if c.flip() {
            // An interval fits its effect; what a table leaves out it inherits.
            let effect = c.word(effects);
            let intervals = match effect.as_str().unwrap_or_default() {
                // So few tasks are not resampled to decide.
                "ratio_of_means" if needed && clustered => "t_cr2",
                "ratio_of_means" if clustered => "t_cr2 bootstrap_bca",
                "ratio_of_means" if needed => "fieller",
                "ratio_of_means" => "fieller bootstrap_bca",
                _ if binary && single && !clustered => "tango newcombe agresti_min t",
                _ if needed => "t_cr2 t",
                _ => "t_cr2 t bootstrap_percentile",
            };
            table = table
                .with("effect", effect)
                .with("interval", c.word(intervals));
        }
        table = table.may(c, "alternative", |c| c.word("two_sided greater less"));
        if needed || c.flip() {
            table = table
                .with("estimand", c.word("as_drawn available complete_blocks"))
                .with("test", c.word(tests));
        }
        if needed || c.flip() {
            let objective = c.pick(&["superiority", "non_inferiority", "equivalence"]);
            table = table.with("objective", objective);
            if objective != "superiority" {
                table = table.with("margin", c.pick(&[0.05, 1.0, 0.001]));
            }
        }
        table
    };
    let primary = comparison(c, Table::default().with("outcome", "passed"), true);
    let fits = Fits { clustered, single };
    let primary = fits.that_can_be_tested(primary, &Table::default());
    let secondary = Table::default()
        .with("id", "second")
        .with("outcome", c.word(further));
    let secondary = fits.that_can_be_tested(comparison(c, secondary, false), &primary);
    let third = Table::default()
        .with("id", "third")
        .with("outcome", "passed")
        .with("effect", "paired_diff")
        .with("test", c.word(tests));
    let third = if single && !clustered {
        third.with("interval", c.word("tango newcombe agresti_min"))
    } else {
        third
    };
    let third = fits.that_can_be_tested(third, &primary);
    let several = treatments.len() > 1;
    let mut table = Table::default()
        .with("reference", arms[0])
        .with("treatments", treatments)
        .with("primary", primary)
        .may(c, "alpha", |c| {
            c.pick(&[json!(0.05), json!(0.5), json!(0.000_001)])
        })
        .may(c, "inference", |c| c.word("tasks_sampled tasks_fixed"))
        .may(c, "resamples", |c| c.pick(&[9999, 99, 1_000_000]))
        .may(c, "missing_share_max", Choices::share)
        .may(c, "seal", |c| c.flip())
        .may(c, "secondary", |_| {
            json!([Value::from(secondary), Value::from(third)])
        })
        .may(c, "looks", |c| {
            Table::default()
                .with("fractions", json!([0.5, 1.0]))
                .with("spending", c.word("obf pocock power"))
                .may(c, "under_run", |c| c.word("spend_to_t spend_all"))
                .may(c, "evalue", |c| c.flip() && !clustered)
        })
        .may(c, "descriptive", |c| {
            Table::default()
                .with("pass_at", json!([1]))
                .may(c, "pass_hat", |_| json!([1]))
                .may(c, "time_to_success", |_| json!({ "limit_s": 1000.5 }))
                .may(c, "cost_effectiveness", |_| json!({ "lambda": [1.0, 5.5] }))
                .may(c, "subgroups", |_| json!(["repo"]))
        });
    if several {
        table.0.remove("looks");
    }
    if table.0.contains_key("secondary") || arms.len() > 2 || c.flip() {
        let multiplicity = Table::default()
            .with("method", c.word("holm hochberg bonferroni"))
            .may(c, "gate", |c| c.word("primary none"));
        table = table.with("multiplicity", multiplicity);
    }
    if clustered {
        table = table.with("cluster", "repo");
    } else {
        table = table.may(c, "cluster", |_| "none");
    }
    table
}

/// What the comparisons of a protocol are made of.
#[derive(Clone, Copy)]
struct Fits {
    clustered: bool,
    single: bool,
}

impl Fits {
    /// Changes what a comparison asks for, with what it takes from the primary one, where no test answers it, or where
    /// an interval is of something else.
    fn that_can_be_tested(self, mut table: Table, primary: &Table) -> Table {
        let said = |table: &Table, key: &str| {
            let found = table.0.get(key).or(primary.0.get(key));
            found.and_then(Value::as_str).unwrap_or_default().to_owned()
        };
        let test = said(&table, "test");
        let without_margin =
            test.starts_with("mcnemar") || said(&table, "effect").ends_with("o_of_means");
        let without_margin = without_margin || said(&table, "effect") == "geometric_ratio";
        if without_margin && !["", "superiority"].contains(&said(&table, "objective").as_str()) {
            table = table.with("objective", "superiority");
            table.0.remove("margin");
        }
        let of_numbers = ["duration", "number"].contains(&said(&table, "outcome").as_str());
        let two_sided = ["", "two_sided"].contains(&said(&table, "alternative").as_str());
        let superiority = ["", "superiority"].contains(&said(&table, "objective").as_str());
        if !superiority {
            table.0.remove("alternative");
        }
        if test == "sign_flip" && of_numbers && !(two_sided && superiority) {
            table = table.with("test", "t_cr2");
        }
        let interval = said(&table, "interval");
        let ratio = said(&table, "effect") == "ratio_of_means";
        let difference = ["", "paired_diff"].contains(&said(&table, "effect").as_str());
        let of_pairs = ["tango", "newcombe", "agresti_min"].contains(&interval.as_str());
        let fits_pairs = !of_numbers && difference && !self.clustered && self.single;
        let fits_fieller = ratio && !self.clustered;
        if of_pairs && !fits_pairs || interval == "fieller" && !fits_fieller {
            table = table.with("interval", "t_cr2");
        }
        table
    }
}

/// Names under `[limitations]` the weaknesses that `check` finds, and no others.
pub fn with_limitations(mut protocol: Value, folder: &dyn Folder) -> Value {
    let root = protocol.as_object_mut();
    let Some(root) = root else { return protocol };
    root.remove("limitations");
    let found = check(written(&protocol).text.as_bytes(), folder)
        .err()
        .unwrap_or_default();
    let named: Map<String, Value> = found
        .iter()
        .filter(|defect| is_weakness(defect.code))
        .map(|defect| {
            (
                defect.code.text().to_owned(),
                json!("it is a test of the checker"),
            )
        })
        .collect();
    if !named.is_empty() {
        protocol["limitations"] = named.into();
    }
    protocol
}

/// Makes one slip somewhere: another value, a key too many or a key too few.
pub fn slip(protocol: &Value, c: &mut Choices) -> Value {
    let mut places = Vec::new();
    list_places(protocol, "", &mut places);
    let place = c.pick(&places);
    let mut slipped = protocol.clone();
    let odd = [
        json!(true),
        json!(0),
        json!(-1),
        json!(1),
        json!(7),
        json!(1.5),
        json!(2.0),
        json!(1_000_001),
        json!(0.0),
        json!(1e-3),
        json!(""),
        json!(" "),
        json!("zebra"),
        json!("Con"),
        json!("while"),
        json!("a b"),
        json!("x/y"),
        json!("../up"),
        json!("/abs"),
        json!("0s"),
        json!("000ms"),
        json!("721h"),
        json!("5d"),
        json!("0B"),
        json!("8388608GiB"),
        json!("3/2"),
        json!("0/7"),
        json!("1/0"),
        json!("7 USD"),
        json!("1.1234567 USD"),
        json!("1969-12-31T00:00:00Z"),
        json!("2026-02-29T00:00:00Z"),
        json!("unlimited"),
        json!("open"),
        json!("empty"),
        json!("available"),
        json!("json"),
        json!("PREREG_RUN"),
        json!("command"),
        json!([]),
        json!({}),
        json!([1]),
        json!([""]),
        json!(["task", "arm"]),
        json!(["task", "task", "arm"]),
        json!({ "x": 1 }),
        json!({ "copy": "a", "git": 1 }),
        json!({ "9": "x" }),
        json!({ "PREREG_X": "x" }),
    ];
    let (table, key) = place.rsplit_once('/').unwrap_or(("", ""));
    match (c.below(4), slipped.pointer_mut(table)) {
        (0, Some(Value::Object(table))) => {
            table.remove(&key.replace("~1", "/").replace("~0", "~"));
        }
        (1, Some(Value::Object(table))) => {
            table.insert(
                c.pick(&[
                    "zebra",
                    "command",
                    "repeats",
                    "seed",
                    "expect_absent",
                    "margin",
                ])
                .to_owned(),
                c.pick(&odd),
            );
        }
        _ => {
            if let Some(value) = slipped.pointer_mut(&place) {
                *value = c.pick(&odd);
            }
        }
    }
    slipped
}

fn list_places(value: &Value, at: &str, places: &mut Vec<String>) {
    if !at.is_empty() {
        places.push(at.to_owned());
    }
    match value {
        Value::Object(table) => {
            for (key, item) in table {
                let key = key.replace('~', "~0").replace('/', "~1");
                list_places(item, &format!("{at}/{key}"), places);
            }
        }
        Value::Array(items) => {
            for (i, item) in items.iter().enumerate() {
                list_places(item, &format!("{at}/{i}"), places);
            }
        }
        _ => {}
    }
}

/// A protocol in TOML, and on which lines each table stands.
pub struct Written {
    pub text: String,
    /// Lines by the table's pointer: `/study`, `/arms/0`.
    sections: BTreeMap<String, RangeInclusive<u64>>,
}

impl Written {
    /// Returns the lines of the table that a place lies in; the whole head for the file itself.
    pub fn section(&self, place: &str) -> RangeInclusive<u64> {
        let mut place = place;
        loop {
            if let Some(lines) = self.sections.get(place) {
                return lines.clone();
            }
            match place.rsplit_once('/') {
                Some((table, _)) if !table.is_empty() => place = table,
                // A key of the file, or a list of tables: where its name stands.
                _ => return 1..=self.text.lines().count() as u64,
            }
        }
    }
}

/// Writes a value as a protocol file: keys first, then each table under its header.
pub fn written(value: &Value) -> Written {
    let mut text = String::new();
    let mut sections = BTreeMap::new();
    let object = value.as_object().cloned().unwrap_or_default();
    let is_list = |value: &Value| matches!(value, Value::Array(items) if !items.is_empty() && items.iter().all(Value::is_object));
    for (key, item) in object
        .iter()
        .filter(|(_, item)| !item.is_object() && !is_list(item))
    {
        text.push_str(&format!(
            "{} = {}\n",
            Value::from(key.as_str()),
            inline(item)
        ));
    }
    for (key, item) in &object {
        let name = Value::from(key.as_str());
        let tables: Vec<(String, String, &Value)> = match item {
            Value::Object(_) => vec![(format!("[{name}]"), format!("/{key}"), item)],
            Value::Array(items) if is_list(item) => {
                let item = |(i, item)| (format!("[[{name}]]"), format!("/{key}/{i}"), item);
                items.iter().enumerate().map(item).collect()
            }
            _ => continue,
        };
        for (header, pointer, table) in tables {
            let first = text.lines().count() as u64 + 1;
            text.push_str(&format!("{header}\n"));
            for (key, item) in table.as_object().into_iter().flatten() {
                text.push_str(&format!(
                    "{} = {}\n",
                    Value::from(key.as_str()),
                    inline(item)
                ));
            }
            sections.insert(pointer, first..=text.lines().count() as u64);
        }
    }
    Written { text, sections }
}

fn inline(value: &Value) -> String {
    match value {
        Value::Array(items) => format!(
            "[{}]",
            items.iter().map(inline).collect::<Vec<_>>().join(", ")
        ),
        Value::Object(table) => {
            let pairs = table
                .iter()
                .map(|(key, item)| format!("{} = {}", Value::from(key.as_str()), inline(item)));
            format!("{{ {} }}", pairs.collect::<Vec<_>>().join(", "))
        }
        plain => plain.to_string(),
    }
}

/// The files that protocols name, read once and held in memory.
pub struct MemoryFolder {
    files: BTreeMap<String, Vec<u8>>,
}

impl Default for MemoryFolder {
    fn default() -> Self {
        let schema = r#"{"type": "object", "additionalProperties": false, "properties": {
            "correct": {"type": "boolean"}, "bytes": {"type": "integer"}}}"#;
        let task = |i: usize| {
            let split = if i < 6 { "main" } else { "trial" };
            format!(
                "{}\n",
                json!({ "id": format!("t{i}"), "split": split, "budget": 10, "repo": "r", "dir": "d" })
            )
        };
        let files = [
            ("tasks.jsonl", (0..8).map(task).collect()),
            ("report.schema.json", schema.to_owned()),
            ("judge.sh", "#!/bin/sh\n".to_owned()),
            ("a.txt", "a\n".to_owned()),
            ("d", String::new()),
        ];
        let files = files.map(|(name, text): (&str, String)| (name.to_owned(), text.into_bytes()));
        Self {
            files: files.into(),
        }
    }
}

impl MemoryFolder {
    /// Reads every file below a folder.
    pub fn of(root: &Path) -> Self {
        let mut files = BTreeMap::new();
        let mut left = vec![PathBuf::new()];
        while let Some(below) = left.pop() {
            for entry in fs::read_dir(root.join(&below)).unwrap() {
                let path = below.join(entry.unwrap().file_name());
                let name = path.to_str().unwrap().to_owned();
                if root.join(&path).is_dir() {
                    // A folder is there; what is in it makes no difference here.
                    files.insert(name, Vec::new());
                    left.push(path);
                } else {
                    files.insert(name, fs::read(root.join(&path)).unwrap());
                }
            }
        }
        Self { files }
    }

    fn find(&self, path: &str) -> Result<&Vec<u8>, FolderFault> {
        self.files.get(path).ok_or_else(|| FolderFault {
            code: Code::NotFound,
            message: "there is no such file or folder".to_owned(),
        })
    }
}

impl Folder for MemoryFolder {
    fn read(&self, path: &str, _max: usize) -> Result<Vec<u8>, FolderFault> {
        self.find(path).cloned()
    }

    fn digest(&self, path: &str) -> Result<Digest, FolderFault> {
        self.find(path).map(|bytes| Digest::of(&[bytes]))
    }

    fn executable(&self, path: &str) -> Result<bool, FolderFault> {
        self.find(path).map(|bytes| bytes.starts_with(b"#!"))
    }
}
