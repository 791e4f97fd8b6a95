//! The `prereg` command.

fn main() -> std::process::ExitCode {
    prereg::cli::main()
}
