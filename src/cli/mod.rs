//! The only room that prints, parses arguments and chooses exit codes.

mod args;
mod exit;
mod inspect;
mod progress;
mod protocol;
pub mod render;
mod results;
mod run;
mod said;
mod steps;
mod study;

use std::process::ExitCode;

use clap::Parser;

use args::{Cli, Verb};
use exit::Exit;
use said::{Failure, Said};

/// Does what the command line says.
pub fn main() -> ExitCode {
    match Cli::try_parse() {
        Ok(cli) => {
            let exit = said::print(&execute(&cli), cli.json);
            exit.into()
        }
        Err(error) => {
            // Help and version are no errors; where they cannot be printed, nobody reads them.
            let _ = error.print();
            if error.use_stderr() {
                Exit::Usage.into()
            } else {
                Exit::Done.into()
            }
        }
    }
}

fn execute(cli: &Cli) -> Result<Said, Failure> {
    match &cli.verb {
        Verb::Init(args) => protocol::init(args),
        Verb::Check(args) => protocol::check(args),
        Verb::Schema => Ok(protocol::schema()),
        Verb::Register(args) => protocol::register(args),
        Verb::Run(args) => run::run(args),
        Verb::Start(args) => steps::start(args),
        Verb::Finish(args) => steps::finish(args),
        Verb::Score(args) => steps::score(args),
        Verb::Status(args) => inspect::status(args),
        Verb::Show(args) => inspect::show(args),
        Verb::Verify(args) => inspect::verify(args),
        Verb::Export(args) => inspect::export(args, cli.json),
        Verb::Claim(args) => steps::claim(args),
    }
}
