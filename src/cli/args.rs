//! The command line.

use std::path::{Path, PathBuf};

use clap::builder::TypedValueParser;
use clap::{Args, Parser, Subcommand, value_parser};

use crate::units::{Bytes, Digest, EXACT_MAX, Micros, Money, RunId};

/// Runs pre-registered comparisons: the rules first, the results after, every decision re-derivable.
#[derive(Debug, Parser)]
#[command(name = "prereg", version, max_term_width = 80, after_help = EXAMPLES)]
pub(super) struct Cli {
    /// Prints data as JSON.
    #[arg(long, global = true)]
    pub json: bool,
    #[command(subcommand)]
    /// What is to be done.
    pub verb: Verb,
}

const EXAMPLES: &str = "\
Examples:
  prereg init study.toml            a commented protocol to start from
  prereg check study.toml           every defect, with its line
  prereg run study.toml             register, execute, score, count
  prereg verify study.prereg.db     derive every decision again

Exit codes: 0 done, 1 fault, 2 usage, 3 defect, 4 refusal, 5 divergence,
130 interrupted.";

/// What is to be done. The grammar of a verb is made once it is asked for: that of all takes longer than
/// many a verb. (What documents a struct of arguments would then stand in the place of what documents
/// the verb here, so theirs are plain comments.)
#[derive(Debug, Subcommand)]
#[command(defer = true)]
pub(super) enum Verb {
    /// Writes a commented protocol to start from.
    #[command(after_help = "Example:\n  prereg init study.toml")]
    Init(Init),
    /// Finds every defect of a protocol.
    #[command(after_help = "Example:\n  prereg check study.toml")]
    Check(Check),
    /// Says the whole plan of a protocol in plain English, as Markdown.
    #[command(
        after_help = "Examples:\n  prereg explain study.toml\n  prereg explain study.toml > plan.md     for whoever reviews the plan"
    )]
    Explain(Explain),
    /// Prints the slots in run order, one a line.
    #[command(
        after_help = "Examples:\n  prereg plan study.toml\n  prereg plan study.toml --json > plan.jsonl"
    )]
    Plan(Plan),
    /// Plays a scripted history and prints every answer of the engine, one a line.
    #[command(
        after_help = "Examples:\n  prereg rehearse study.toml history.jsonl\n  prereg rehearse study.toml - --final < history.jsonl\n\nThe operations are described in docs/rehearse.md. Nothing is recorded, and lines are\nJSON with and without --json."
    )]
    Rehearse(Rehearse),
    /// Prints the JSON Schema of the protocol file, for editors.
    #[command(
        after_help = "Example:\n  prereg schema > protocol.schema.json\n  then, as the first line of a protocol: #:schema protocol.schema.json"
    )]
    Schema,
    /// Records the registration of a protocol; prints its digest and the line to publish.
    #[command(after_help = "Example:\n  prereg register study.toml")]
    Register(Register),
    /// Registers if need be, then starts, executes and scores until nothing is left to start.
    #[command(
        after_help = "Examples:\n  prereg run study.toml\n  prereg run study.toml --pilot       only pilot splits, before registration\n  prereg run study.toml --register    register a protocol that has a pilot split"
    )]
    Run(Run),
    /// Asks for a run that is executed elsewhere.
    #[command(
        after_help = "Example:\n  prereg start task-7 treatment --ref https://ci.example/run/12\n\nThe switch, probes and readings of the protocol are looked at first, and preflights that\nwere not ready: in the folder of the record, where a protocol stands as a rule. Keep the\nfiles that they need beside the record."
    )]
    Start(Start),
    /// Reports that a run executed elsewhere has ended.
    #[command(
        after_help = "Examples:\n  prereg finish 12 --exit 0 --wall 95s\n  prereg finish 12 --timed-out"
    )]
    Finish(Finish),
    /// Reports what an ended run is scored from.
    #[command(after_help = "Example:\n  prereg score 12 --report report.json --claim claim.json")]
    Score(Score),
    /// Opens or clears the breaker: while it is open nothing that it guards starts.
    #[command(
        after_help = "Examples:\n  prereg breaker clear     after the cause of failed starts is mended\n  prereg breaker open      where the protocol says external = true"
    )]
    Breaker(Breaker),
    /// Turns the switch on or off: nothing starts while its file does not say `on`.
    #[command(after_help = "Examples:\n  prereg switch off\n  prereg switch on")]
    Switch(Switch),
    /// Adds tasks to an open frame.
    #[command(subcommand)]
    Task(Task),
    /// Appends tasks to a draw that grows.
    #[command(subcommand)]
    Draw(Draw),
    /// Reports what the world says.
    #[command(subcommand)]
    Reading(Reading),
    /// Records the check in the middle of a run.
    #[command(
        after_help = "Examples:\n  prereg checkpoint 12 passed\n  prereg checkpoint 12 failed --reason \"no plan was written\""
    )]
    Checkpoint(Checkpoint),
    /// Reports what a run cost, where nothing had said it.
    #[command(after_help = "Example:\n  prereg cost 12 1.25 USD")]
    Cost(Cost),
    /// Voids a block by hand: what it had does not count, and it is executed again.
    #[command(
        after_help = "Example:\n  prereg void 7 --reason \"the disk of the machine was full\""
    )]
    Void(Void),
    /// Records something that the protocol did not foresee.
    #[command(
        after_help = "Example:\n  prereg deviate --note \"the agent was updated on 3 December\""
    )]
    Deviate(Deviate),
    /// Takes a scheduled look that is due: says whether the study goes on, and nothing else.
    #[command(
        after_help = "Example:\n  prereg look study.prereg.db     `prereg run` does it by itself"
    )]
    Look(Look),
    /// Ends a run and everything that it has started.
    #[command(
        after_help = "Examples:\n  prereg cancel 12\n  prereg cancel 12 --reason \"it waits for a prompt\"     a run executed elsewhere"
    )]
    Cancel(Cancel),
    /// Records what became of runs whose session was killed.
    #[command(
        after_help = "Examples:\n  prereg reconcile\n  prereg reconcile 12 --lost --reason \"the machine is gone\"     where nobody can prove it"
    )]
    Reconcile(Reconcile),
    /// Says what this machine can do for runs: which containment works, and why the rest does not.
    #[command(after_help = "Examples:\n  prereg doctor\n  prereg doctor --json")]
    Doctor,
    /// Shows where a study stands.
    #[command(after_help = "Example:\n  prereg status study.prereg.db")]
    Status(Status),
    /// Computes the registered analysis of a study that has ended.
    #[command(
        after_help = "Examples:\n  prereg analyze study.prereg.db\n  prereg analyze study.prereg.db --json > answer.json\n  prereg analyze --outcomes runs.csv --reference a --treatment b\n  prereg analyze --counts 1,7,1,12"
    )]
    Analyze(Analyze),
    /// Shows a run.
    #[command(after_help = "Examples:\n  prereg show 12\n  prereg show 12 --tail 4KiB")]
    Show(Show),
    /// Prints the line to publish: it binds every entry so far.
    #[command(
        after_help = "Examples:\n  prereg head > head.txt\n  git commit --allow-empty -m \"$(prereg head)\" && git push\n  openssl ts -query -data head.txt -sha256 -cert -out head.tsq"
    )]
    Head(HeadLine),
    /// Records that a head was published, once what shows it was checked.
    #[command(
        after_help = "Examples:\n  prereg anchor --ssh-key ~/.ssh/id_ed25519 --to head.anchor\n  prereg anchor --line head.txt --rfc3161 head.tsr --ca authority.pem\n  git cat-file commit origin/main > receipt.txt && prereg anchor --git receipt.txt\n  prereg anchor --line head.txt --note \"in the paper's first version\""
    )]
    Anchor(Anchor),
    /// Derives every decision of a record or an export again.
    #[command(
        after_help = "Examples:\n  prereg verify study.prereg.db\n  prereg verify study.export.jsonl --anchor head.anchor\n  prereg verify study.export.jsonl --anchor head.txt --anchor head.tsr --ca authority.pem"
    )]
    Verify(Verify),
    /// Writes the whole record as one file, or tables and statements of it.
    #[command(
        after_help = "Examples:\n  prereg export study.prereg.db --to study.export.jsonl\n  prereg export --csv slots --to slots.csv     one row a slot; runs: one row a run\n  prereg export --in-toto                      the registration as an in-toto statement\n  prereg export --prml                         the primary comparison as a PRML manifest"
    )]
    Export(Export),
    /// Makes a record again from an export, and verifies it on the way.
    #[command(
        after_help = "Examples:\n  prereg import study.export.jsonl\n  prereg import study.export.jsonl --to copy.prereg.db"
    )]
    Import(Import),
    /// For arms: claims that the run's work is done, or not.
    #[command(after_help = "Examples, inside a run:\n  prereg claim done\n  prereg claim failed")]
    Claim(Claim),
}

/// The largest number of a signal that an exit status can hold.
const SIGNAL_MAX: i64 = 127;

/// Reads a number that every reader of the record reads alike.
fn place() -> impl TypedValueParser<Value = u64> {
    value_parser!(u64).range(..=EXACT_MAX)
}

/// Reads a text that says something.
fn said(text: &str) -> Result<String, &'static str> {
    match text.trim() {
        "" => Err("it is empty; write something"),
        _ => Ok(text.to_owned()),
    }
}

// Which record is meant.
#[derive(Debug, Args)]
pub(super) struct Which {
    /// The record; without it, the only `*.prereg.db` of this folder.
    #[arg(long, value_name = "RECORD")]
    pub db: Option<PathBuf>,
}

// Which record is meant, by verbs that have no other argument.
#[derive(Debug, Args)]
pub(super) struct Named {
    /// The record; without it, the only `*.prereg.db` of this folder.
    pub record: Option<PathBuf>,
    /// The same, for symmetry with the verbs whose arguments are something else.
    #[arg(long, value_name = "RECORD", conflicts_with = "record")]
    pub db: Option<PathBuf>,
}

impl Named {
    /// Returns the record as it was said, either way.
    pub(super) fn said(&self) -> Option<&Path> {
        self.record.as_deref().or(self.db.as_deref())
    }
}

// Whether to look behind the seal, and who does.
#[derive(Debug, Args)]
pub(super) struct Looks {
    /// Shows sealed outcomes before the study has ended; this is recorded.
    #[arg(long)]
    pub unblind: bool,
    /// Who asks, for the record.
    #[arg(long, default_value = "user:operator", value_parser = said)]
    pub actor: String,
}

// Who writes, and as which operation.
#[derive(Debug, Args)]
pub(super) struct Writes {
    /// Who asks, for the record.
    #[arg(long, default_value = "user:operator", value_parser = said)]
    pub actor: String,
    /// The operation's identity: the same key again returns the first answer.
    #[arg(long, value_parser = said)]
    pub key: Option<String>,
    /// The head that was looked at: refuses if the run, or where no run is named the study, has
    /// changed since.
    #[arg(long, value_name = "SEQ", value_parser = place())]
    pub if_head: Option<u64>,
}

// `init`
#[derive(Debug, Args)]
pub(super) struct Init {
    /// The file to write.
    pub file: PathBuf,
}

// `check`
#[derive(Debug, Args)]
pub(super) struct Check {
    /// The protocol file.
    pub file: PathBuf,
}

// `explain`
#[derive(Debug, Args)]
pub(super) struct Explain {
    /// The protocol file.
    pub file: PathBuf,
}

// `plan`
#[derive(Debug, Args)]
pub(super) struct Plan {
    /// The protocol file.
    pub file: PathBuf,
    /// Prints the pilot's slots, which are executed before registration in any order.
    #[arg(long)]
    pub pilot: bool,
}

// `rehearse`
#[derive(Debug, Args)]
pub(super) struct Rehearse {
    /// The protocol file.
    pub file: PathBuf,
    /// The history: one operation as JSON a line; `-` is standard input.
    #[arg(value_name = "OPS")]
    pub ops: PathBuf,
    /// Prints where it all ended as the last line.
    #[arg(long = "final")]
    pub last: bool,
}

// `register`
#[derive(Debug, Args)]
pub(super) struct Register {
    /// The protocol file.
    pub file: PathBuf,
    /// The record; without it `<study id>.prereg.db` beside the protocol.
    #[arg(long, value_name = "RECORD")]
    pub db: Option<PathBuf>,
    /// Who asks, for the record.
    #[arg(long, default_value = "user:operator", value_parser = said)]
    pub actor: String,
}

// `run`
#[derive(Debug, Args)]
pub(super) struct Run {
    /// The protocol file.
    pub file: PathBuf,
    /// The record; without it `<study id>.prereg.db` beside the protocol.
    #[arg(long, value_name = "RECORD")]
    pub db: Option<PathBuf>,
    /// Executes the pilot splits, before registration.
    #[arg(long, conflicts_with = "register")]
    pub pilot: bool,
    /// Registers a protocol that declares a pilot split; pilots end with it.
    #[arg(long)]
    pub register: bool,
    /// Attempts again what ended for a cause that `rerun_on_request` names; this is recorded.
    #[arg(long)]
    pub retry_failed: bool,
    /// Waits while starts are held, and goes on.
    #[arg(long)]
    pub wait: bool,
    /// Shows no progress.
    #[arg(long, short)]
    pub quiet: bool,
    /// Who asks, for the record.
    #[arg(long, default_value = "user:operator", value_parser = said)]
    pub actor: String,
}

// `start`
#[derive(Debug, Args)]
pub(super) struct Start {
    /// The task.
    pub task: String,
    /// The arm or control.
    pub arm: String,
    /// Where the run can be found.
    #[arg(long = "ref", value_name = "URL", value_parser = said)]
    pub reference: Option<String>,
    #[command(flatten)]
    pub which: Which,
    #[command(flatten)]
    pub writes: Writes,
}

// `finish`
#[derive(Debug, Args)]
pub(super) struct Finish {
    /// The run's number.
    pub run: RunId,
    /// Its exit status.
    #[arg(long, value_name = "STATUS", required_unless_present_any = ["signal", "timed_out"], conflicts_with = "signal", allow_negative_numbers = true)]
    pub exit: Option<i32>,
    /// The signal that ended it.
    #[arg(long, value_parser = clap::value_parser!(i32).range(1..=SIGNAL_MAX))]
    pub signal: Option<i32>,
    /// Its time limit ended it.
    #[arg(long)]
    pub timed_out: bool,
    /// What its own output says, as one JSON value.
    #[arg(long, value_name = "FILE")]
    pub observed: Option<PathBuf>,
    /// An error of the world stopped it; what was observed counts before this.
    #[arg(long)]
    pub error_stop: bool,
    /// What it cost, such as `"1.25 USD"`; what was observed counts before this.
    #[arg(long, value_name = "MONEY")]
    pub cost: Option<Money>,
    /// How long it took, such as `95s`.
    #[arg(long, value_name = "DURATION")]
    pub wall: Option<Micros>,
    #[command(flatten)]
    pub which: Which,
    #[command(flatten)]
    pub writes: Writes,
}

// `score`
#[derive(Debug, Args)]
pub(super) struct Score {
    /// The run's number.
    pub run: RunId,
    /// The judge's report.
    #[arg(long, value_name = "FILE")]
    pub report: Option<PathBuf>,
    /// The judge left no report.
    #[arg(long, conflicts_with = "report")]
    pub no_report: bool,
    /// The arm's claim.
    #[arg(long, value_name = "FILE")]
    pub claim: Option<PathBuf>,
    /// What the run changed: its digest is recorded, where `keep_diff_for` allows it.
    #[arg(long, value_name = "FILE")]
    pub diff: Option<PathBuf>,
    #[command(flatten)]
    pub which: Which,
    #[command(flatten)]
    pub writes: Writes,
}

// `breaker`
#[derive(Debug, Args)]
pub(super) struct Breaker {
    /// What is done to it.
    pub hand: Hand,
    #[command(flatten)]
    pub which: Which,
    #[command(flatten)]
    pub writes: Writes,
}

/// What is done to the breaker.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(super) enum Hand {
    /// Nothing it guards starts.
    Open,
    /// Starts are let through again.
    Clear,
}

// `switch`
#[derive(Debug, Args)]
pub(super) struct Switch {
    /// What it is to say.
    pub to: OnOff,
    #[command(flatten)]
    pub which: Which,
    #[command(flatten)]
    pub writes: Writes,
}

/// What the switch is to say.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(super) enum OnOff {
    /// Runs may start.
    On,
    /// Nothing starts.
    Off,
}

/// `task`
#[derive(Debug, Subcommand)]
pub(super) enum Task {
    /// Adds tasks, one JSON object a line; an added task never changes.
    #[command(
        after_help = "Examples:\n  prereg task add tasks.jsonl\n  prereg task add - < task.json"
    )]
    Add(Lines),
}

// Lines of JSON, and who writes them.
#[derive(Debug, Args)]
pub(super) struct Lines {
    /// The file, one JSON object a line; `-` is the standard input.
    pub file: PathBuf,
    #[command(flatten)]
    pub which: Which,
    #[command(flatten)]
    pub writes: Writes,
}

/// `draw`
#[derive(Debug, Subcommand)]
pub(super) enum Draw {
    /// Appends tasks; places that hold a task already must be named with the same task.
    #[command(after_help = "Example:\n  prereg draw append --from 4 task-9 task-2")]
    Append(Append),
}

// `draw append`
#[derive(Debug, Args)]
pub(super) struct Append {
    /// The tasks, in the order of the draw.
    #[arg(required = true)]
    pub tasks: Vec<String>,
    /// The place of the first of them, from 1; without it, after the last.
    #[arg(long, value_name = "PLACE", value_parser = place())]
    pub from: Option<u64>,
    #[command(flatten)]
    pub which: Which,
    #[command(flatten)]
    pub writes: Writes,
}

/// `reading`
#[derive(Debug, Subcommand)]
pub(super) enum Reading {
    /// Adds a reading; the newest counts whole.
    #[command(
        after_help = "Example:\n  prereg reading add quota '{\"seven_day\": 0.4, \"resets_at\": \"2026-12-01T00:00:00Z\"}'"
    )]
    Add(AddReading),
}

// `reading add`
#[derive(Debug, Args)]
pub(super) struct AddReading {
    /// The reading's id.
    pub id: String,
    /// Its fields, a JSON object.
    pub fields: String,
    #[command(flatten)]
    pub which: Which,
    #[command(flatten)]
    pub writes: Writes,
}

// `checkpoint`
#[derive(Debug, Args)]
pub(super) struct Checkpoint {
    /// The run's number.
    pub run: RunId,
    /// Whether it passed.
    pub result: Passed,
    /// Why, for people.
    #[arg(long, value_name = "TEXT", value_parser = said)]
    pub reason: Option<String>,
    #[command(flatten)]
    pub which: Which,
    #[command(flatten)]
    pub writes: Writes,
}

/// Whether a check passed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(super) enum Passed {
    /// It did.
    Passed,
    /// It did not.
    Failed,
}

// `cost`
#[derive(Debug, Args)]
pub(super) struct Cost {
    /// The run's number.
    pub run: RunId,
    /// What it cost, such as `1.25 USD`.
    #[arg(required = true, num_args = 1..=2, value_name = "MONEY")]
    pub cost: Vec<String>,
    #[command(flatten)]
    pub which: Which,
    #[command(flatten)]
    pub writes: Writes,
}

// `void`
#[derive(Debug, Args)]
pub(super) struct Void {
    /// The block's number, from 1, as `plan` prints it.
    #[arg(value_parser = place())]
    pub block: u64,
    /// Why; the report prints it in full.
    #[arg(long, value_name = "TEXT", value_parser = said)]
    pub reason: String,
    #[command(flatten)]
    pub which: Which,
    #[command(flatten)]
    pub writes: Writes,
}

// `deviate`
#[derive(Debug, Args)]
pub(super) struct Deviate {
    /// What happened; the report prints it in full.
    #[arg(long, value_name = "TEXT", value_parser = said)]
    pub note: String,
    /// The arm whose settings were put right: it may start again (`binding-changed`).
    #[arg(long, value_name = "ARM")]
    pub arm: Option<String>,
    #[command(flatten)]
    pub which: Which,
    #[command(flatten)]
    pub writes: Writes,
}

// `look`
#[derive(Debug, Args)]
pub(super) struct Look {
    #[command(flatten)]
    pub named: Named,
}

// `cancel`
#[derive(Debug, Args)]
pub(super) struct Cancel {
    /// The run's number.
    pub run: RunId,
    /// Why, of a run executed elsewhere.
    #[arg(long, value_name = "TEXT", value_parser = said)]
    pub reason: Option<String>,
    #[command(flatten)]
    pub which: Which,
    #[command(flatten)]
    pub writes: Writes,
}

// `reconcile`
#[derive(Debug, Args)]
pub(super) struct Reconcile {
    /// The run that is lost.
    #[arg(requires = "lost")]
    pub run: Option<RunId>,
    /// Says that nothing of the run is left and nobody knows how it ended.
    #[arg(long, requires_all = ["run", "reason"])]
    pub lost: bool,
    /// How that is known; it is recorded.
    #[arg(long, value_name = "TEXT", value_parser = said, requires = "lost")]
    pub reason: Option<String>,
    #[command(flatten)]
    pub which: Which,
    #[command(flatten)]
    pub writes: Writes,
}

// `status`
#[derive(Debug, Args)]
pub(super) struct Status {
    #[command(flatten)]
    pub named: Named,
    #[command(flatten)]
    pub looks: Looks,
}

// `analyze`
#[derive(Debug, Args)]
pub(super) struct Analyze {
    #[command(flatten)]
    pub named: Named,
    /// A table of runs, one row a task, arm and repeat, that nobody registered: `-` is the standard input.
    #[arg(long, value_name = "FILE.csv", requires_all = ["reference", "treatment"], group = "explored", conflicts_with_all = ["record", "db"])]
    pub outcomes: Option<PathBuf>,
    /// The arm of the table that is compared with.
    #[arg(long, value_name = "ARM", requires = "outcomes")]
    pub reference: Option<String>,
    /// The arm of the table that is compared.
    #[arg(long, value_name = "ARM", requires = "outcomes")]
    pub treatment: Option<String>,
    /// The column of the table that groups tasks, or `none`; without it, `cluster` where there is one.
    #[arg(long, value_name = "COLUMN", requires = "outcomes")]
    pub cluster: Option<String>,
    /// How many slots a task has in each arm of the table; without it, its largest repeat.
    #[arg(long, value_name = "K", requires = "outcomes", value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub repeats: Option<u32>,
    /// Up to how many seconds a success of the table counts as one in time.
    #[arg(long, value_name = "SECONDS", requires = "outcomes", value_parser = amount)]
    pub limit: Option<f64>,
    /// What a success of the table may be worth, in USD; several may be named.
    #[arg(long, value_name = "USD", requires = "outcomes", value_delimiter = ',', value_parser = amount)]
    pub worth: Vec<f64>,
    /// How many resamples are drawn of the table; without it, 9999.
    #[arg(long, value_name = "B", requires = "outcomes", value_parser = resamples)]
    pub resamples: Option<std::num::NonZeroU64>,
    /// A table of pairs: tasks on which both succeed, the reference alone, the treatment alone, neither.
    #[arg(long, value_name = "A,B,C,D", value_parser = counts, group = "explored", conflicts_with_all = ["record", "db"])]
    pub counts: Option<[u64; 4]>,
    /// Slots of tasks as JSON, one case or a list of cases.
    #[arg(long, value_name = "FILE.json", group = "explored", conflicts_with_all = ["record", "db"])]
    pub tasks: Option<PathBuf>,
    /// Paired numbers as JSON, one case or a list of cases.
    #[arg(long, value_name = "FILE.json", group = "explored", conflicts_with_all = ["record", "db"])]
    pub numeric: Option<PathBuf>,
    /// Shows no progress of a long table.
    #[arg(long, requires = "outcomes")]
    pub quiet: bool,
}

/// What `analyze` is given in the place of a record.
#[derive(Debug)]
pub(super) enum Explored<'a> {
    /// A table of runs.
    Table(&'a Path),
    /// The counts of a table of pairs.
    Counts(&'a [u64; 4]),
    /// Slots of tasks.
    Tasks(&'a Path),
    /// Paired numbers.
    Numbers(&'a Path),
}

impl Analyze {
    /// Returns what was given in the place of a record.
    pub(super) fn explored(&self) -> Option<Explored<'_>> {
        let table = self.outcomes.as_deref().map(Explored::Table);
        table
            .or(self.counts.as_ref().map(Explored::Counts))
            .or(self.tasks.as_deref().map(Explored::Tasks))
            .or(self.numeric.as_deref().map(Explored::Numbers))
    }
}

/// Reads how many resamples are drawn.
fn resamples(text: &str) -> Result<std::num::NonZeroU64, String> {
    let number = text.parse::<std::num::NonZeroU64>().ok();
    let number = number.filter(|number| number.get() <= 1_000_000);
    number.ok_or_else(|| "write a number from 1 to 1000000".to_owned())
}

/// Reads four counts.
fn counts(text: &str) -> Result<[u64; 4], String> {
    let counts = text.split(',').map(|count| count.trim().parse::<u64>());
    let counts = counts.collect::<Result<Vec<_>, _>>();
    let four = counts.ok().and_then(|counts| counts.try_into().ok());
    four.ok_or_else(|| "write four counts, for example 1,7,1,12".to_owned())
}

/// Reads a number above 0.
fn amount(text: &str) -> Result<f64, String> {
    let number = text.parse::<f64>().ok();
    let number = number.filter(|number| *number > 0.0 && *number <= 1e12);
    number.ok_or_else(|| "write a number above 0, at most 1e12".to_owned())
}

// `show`
#[derive(Debug, Args)]
pub(super) struct Show {
    /// The run's number.
    pub run: RunId,
    /// Prints the last lines of what the run and its judge have printed, of each at most so much.
    #[arg(long, value_name = "SIZE")]
    pub tail: Option<Bytes>,
    #[command(flatten)]
    pub which: Which,
    #[command(flatten)]
    pub looks: Looks,
}

// `head`
#[derive(Debug, Args)]
pub(super) struct HeadLine {
    #[command(flatten)]
    pub named: Named,
    /// Prints the line of the newest entry; this is what is printed anyway.
    #[arg(long)]
    pub line: bool,
    /// Prints the line of the registration.
    #[arg(long, conflicts_with = "line")]
    pub registration: bool,
}

// `anchor`
#[derive(Debug, Args)]
#[command(group = clap::ArgGroup::new("shown").args(["line", "ssh_key", "ssh_signature", "rfc3161", "git"]).required(true).multiple(true))]
#[command(group = clap::ArgGroup::new("witness").args(["ssh_key", "ssh_signature", "rfc3161", "git"]))]
pub(super) struct Anchor {
    #[command(flatten)]
    pub named: Named,
    /// The line that was published; without it, the one that the witness is of. By itself, it is the
    /// word of whoever records it.
    #[arg(long, value_name = "FILE")]
    pub line: Option<PathBuf>,
    /// Lets `ssh-keygen` sign the line with a key: without --line, the line of the newest entry.
    #[arg(long, value_name = "KEY")]
    pub ssh_key: Option<PathBuf>,
    /// A signature that `ssh-keygen -Y sign -n prereg-head@1` made of the line.
    #[arg(long, value_name = "FILE")]
    pub ssh_signature: Option<PathBuf>,
    /// A time-stamp of the line, as an authority gave it.
    #[arg(long, value_name = "TOKEN")]
    pub rfc3161: Option<PathBuf>,
    /// The certificates by which `openssl` checks who stamped it.
    #[arg(long, value_name = "FILE", requires = "rfc3161", conflicts_with_all = ["ssh_key", "ssh_signature", "git"])]
    pub ca: Option<PathBuf>,
    /// What a git remote gave, with the line in it.
    #[arg(long, value_name = "RECEIPT")]
    pub git: Option<PathBuf>,
    /// Where it was published.
    #[arg(long, value_name = "TEXT", value_parser = said)]
    pub note: Option<String>,
    /// Writes a file that `verify --anchor` reads, to be given away.
    #[arg(long, value_name = "FILE")]
    pub to: Option<PathBuf>,
    #[command(flatten)]
    pub writes: Writes,
}

// `verify`
#[derive(Debug, Args)]
pub(super) struct Verify {
    /// The record or the export.
    pub file: PathBuf,
    /// The digest that one of the entries must have.
    #[arg(long, value_name = "DIGEST")]
    pub head: Vec<Digest>,
    /// What shows that a head was published: text with lines, signatures or time-stamps in it, or a
    /// time-stamp.
    #[arg(long, value_name = "FILE")]
    pub anchor: Vec<PathBuf>,
    /// The certificates by which `openssl` checks who made the time-stamps.
    #[arg(long, value_name = "FILE")]
    pub ca: Option<PathBuf>,
    /// Holds the files in which the output of runs is kept, beside the record, to their recorded digests.
    #[arg(long)]
    pub artefacts: bool,
}

// `export`
#[derive(Debug, Args)]
pub(super) struct Export {
    #[command(flatten)]
    pub named: Named,
    /// The file to write; without it, standard output.
    #[arg(long, value_name = "FILE")]
    pub to: Option<PathBuf>,
    /// Writes a table: one row a slot, or one row a run.
    #[arg(long, value_name = "TABLE", group = "form")]
    pub csv: Option<Rows>,
    /// Writes what is registered as an in-toto statement.
    #[arg(long, group = "form")]
    pub in_toto: bool,
    /// Writes the primary comparison as a PRML manifest.
    #[arg(long, group = "form")]
    pub prml: bool,
    /// Which treatment the manifest is about, where several are registered.
    #[arg(long, value_name = "ARM", requires = "prml")]
    pub treatment: Option<String>,
    #[command(flatten)]
    pub looks: Looks,
}

/// What a table has a row for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(super) enum Rows {
    /// Each registered slot.
    Slots,
    /// Each run.
    Runs,
}

// `import`
#[derive(Debug, Args)]
pub(super) struct Import {
    /// The export.
    pub export: PathBuf,
    /// The record to make; without it `<study id>.prereg.db` in this folder.
    #[arg(long, value_name = "RECORD")]
    pub to: Option<PathBuf>,
}

// `claim`
#[derive(Debug, Args)]
pub(super) struct Claim {
    /// What the arm says of its work.
    pub claim: Claimed,
    /// The file to write; without it, the one that the protocol names.
    #[arg(
        long,
        value_name = "FILE",
        env = "PREREG_CLAIM",
        hide_env_values = true
    )]
    pub file: Option<PathBuf>,
}

/// What an arm says of its work.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(super) enum Claimed {
    /// The work is done.
    Done,
    /// The work is not done.
    Failed,
}
