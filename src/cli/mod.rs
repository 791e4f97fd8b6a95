//! The only room that prints, parses arguments and chooses exit codes.

mod analyze;
mod anchor;
mod args;
mod by_hand;
mod doctor;
mod elsewhere;
mod exit;
mod explain;
mod explore;
mod export;
mod input;
mod live;
mod look;
mod looks;
mod operator;
mod plan;
mod progress;
mod protocol;
mod rehearse;
pub mod render;
mod reply;
mod results;
mod run;
mod seal;
mod show;
mod status;
mod study;
mod verify;

use std::panic::AssertUnwindSafe;
use std::process::ExitCode;

use clap::Parser;
use serde_json::Value;

use args::{Cli, Verb};
use exit::Exit;
use reply::{Failure, Reply};

use crate::protocol::expression::NoThread;
use crate::runner::{signals, supervisor};
use crate::store::Fault;

/// Does what the command line says.
pub fn main() -> ExitCode {
    let mut arguments = std::env::args_os().skip(1);
    if let Some(exit) = arguments.next().as_deref().and_then(supervisor::main) {
        // One of many such processes: nothing else is looked at.
        return exit;
    }
    let mut arguments = std::env::args_os().skip(1);
    if let (Some(only), None) = (arguments.next(), arguments.next())
        && (only == "--version" || only == "-V")
    {
        // Asked often by probes of other studies: answered without building the whole grammar.
        let version = concat!("prereg ", env!("CARGO_PKG_VERSION"), "\n");
        return reply::print(&Ok(Reply::done(version, Value::Null)), false).into();
    }
    match Cli::try_parse() {
        Ok(cli) => {
            let exit = reply::print(&execute_or_say(&cli), cli.json);
            exit.into()
        }
        Err(error) if !error.use_stderr() => {
            // Help is no error; where it cannot be printed, nobody reads it.
            let _ = error.print();
            Exit::Done.into()
        }
        Err(error) if std::env::args_os().any(|argument| argument == "--json") => {
            let text = error.render().to_string();
            // What is wrong, down to the arguments that are missing; then comes how to use it.
            let lines = text.lines().take_while(|line| !line.starts_with("Usage:"));
            let words: Vec<&str> = lines.flat_map(str::split_whitespace).collect();
            let said = words.join(" ");
            let message = said.strip_prefix("error: ").unwrap_or(&said).to_owned();
            let failure = Failure::Usage {
                code: "arguments",
                message,
            };
            reply::print(&Err(failure), true).into()
        }
        Err(error) => {
            let _ = error.print();
            Exit::Usage.into()
        }
    }
}

/// Executes a verb; says so where no thread was to be had for it.
fn execute_or_say(cli: &Cli) -> Result<Reply, Failure> {
    // Without it such a write ends the process; nothing else is lost.
    let _ = signals::outlive_file_limit();
    let done = std::panic::catch_unwind(AssertUnwindSafe(|| execute(cli)));
    done.unwrap_or_else(|panic| match panic.downcast::<NoThread>() {
        Ok(none) => Err(Fault::Threads(none.0).into()),
        Err(panic) => std::panic::resume_unwind(panic),
    })
}

fn execute(cli: &Cli) -> Result<Reply, Failure> {
    match &cli.verb {
        Verb::Init(args) => protocol::init(args),
        Verb::Check(args) => protocol::check(args),
        Verb::Explain(args) => explain::explain(args),
        Verb::Plan(args) => plan::plan(args, cli.json),
        Verb::Rehearse(args) => rehearse::rehearse(args),
        Verb::Schema => Ok(protocol::schema()),
        Verb::Register(args) => protocol::register(args),
        Verb::Run(args) => run::run(args),
        Verb::Start(args) => elsewhere::start(args),
        Verb::Finish(args) => elsewhere::finish(args),
        Verb::Score(args) => elsewhere::score(args),
        Verb::Breaker(args) => operator::breaker(args),
        Verb::Switch(args) => operator::turn(args),
        Verb::Task(args::Task::Add(args)) => operator::add_tasks(args),
        Verb::Draw(args::Draw::Append(args)) => operator::append(args),
        Verb::Reading(args::Reading::Add(args)) => operator::add_reading(args),
        Verb::Checkpoint(args) => operator::checkpoint(args),
        Verb::Cost(args) => operator::cost(args),
        Verb::Void(args) => operator::void(args),
        Verb::Deviate(args) => operator::deviate(args),
        Verb::Cancel(args) => live::cancel(args),
        Verb::Reconcile(args) => live::reconcile(args),
        Verb::Look(args) => look::look(args),
        Verb::Doctor => doctor::doctor(),
        Verb::Status(args) => status::status(args, cli.json),
        Verb::Analyze(args) => analyze::analyze(args),
        Verb::Show(args) => show::show(args),
        Verb::Head(args) => anchor::head(args),
        Verb::Anchor(args) => anchor::anchor(args),
        Verb::Verify(args) => verify::verify(args),
        Verb::Export(args) => export::export(args, cli.json),
        Verb::Import(args) => export::import(args),
        Verb::Claim(args) => elsewhere::claim(args),
    }
}
