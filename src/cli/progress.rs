//! How far a session has come: one line that is redrawn on a terminal, plain lines elsewhere.
//!
//! It is drawn when something happened, never by a clock.

use std::io::{self, IsTerminal, Write};
use std::sync::Mutex;
use std::time::Instant;

use crate::runner::session::{Observer, Progress};

/// The width of the bar, in characters.
const WIDTH: usize = 30;

/// Draws progress on standard error.
#[derive(Debug)]
pub(super) struct Bar {
    style: Style,
    started: Instant,
    drawn: Mutex<Drawn>,
}

/// How far a computation has come, on a terminal: the step that has begun, and with no words none.
#[derive(Debug)]
pub(super) struct Step;

impl Step {
    /// Returns what shows a step.
    pub(super) fn shown(quiet: bool) -> fn(&str) {
        match !quiet && io::stderr().is_terminal() {
            true => |step| {
                // Nobody is left to be told where standard error is closed.
                let _ = write!(io::stderr().lock(), "\r\x1b[K{step}");
            },
            false => |_| {},
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Style {
    Quiet,
    Lines,
    Line,
}

#[derive(Debug, Default)]
struct Drawn {
    /// How many slots had ended when the session began.
    first: Option<u64>,
    /// The tenth of the plan that was told last.
    tenth: Option<u64>,
}

impl Bar {
    /// Makes a bar that suits where standard error goes.
    pub(super) fn new(quiet: bool) -> Self {
        let style = match (quiet, io::stderr().is_terminal()) {
            (true, _) => Style::Quiet,
            (false, true) => Style::Line,
            (false, false) => Style::Lines,
        };
        Self {
            style,
            started: Instant::now(),
            drawn: Mutex::default(),
        }
    }

    /// Returns how long it has been there, in whole seconds and tenths.
    pub(super) fn elapsed(&self) -> String {
        let millis = self.started.elapsed().as_millis();
        match millis {
            0..10_000 => format!("{}.{} s", millis / 1000, millis % 1000 / 100),
            10_000..600_000 => format!("{} s", millis / 1000),
            _ => format!("{} min", millis / 60_000),
        }
    }

    /// Says something to the operator without disturbing the bar.
    pub(super) fn say(&self, line: &str) {
        self.clear();
        // Nobody is left to be told where standard error is closed.
        let _ = writeln!(io::stderr().lock(), "{line}");
    }

    /// Takes the bar off the terminal.
    pub(super) fn clear(&self) {
        if self.style == Style::Line {
            let _ = write!(io::stderr().lock(), "\r\x1b[K");
        }
    }

    fn left(&self, first: u64, progress: Progress) -> String {
        let done = u128::from(progress.ended.saturating_sub(first));
        let rest = u128::from(progress.slots - progress.ended);
        let seconds = (self.started.elapsed().as_millis() * rest).checked_div(done * 1000);
        match seconds {
            None | Some(0) => String::new(),
            Some(seconds @ 1..120) => format!("   about {seconds} s left"),
            Some(seconds @ 120..7200) => format!("   about {} min left", seconds / 60),
            Some(seconds) => format!("   about {} h left", seconds / 3600),
        }
    }
}

impl Observer for Bar {
    fn progress(&self, progress: Progress) {
        let Progress {
            slots,
            ended,
            running,
            unjudged,
        } = progress;
        if self.style == Style::Quiet || slots == 0 {
            return;
        }
        let mut drawn = self
            .drawn
            .lock()
            .unwrap_or_else(std::sync::PoisonError::into_inner);
        let first = *drawn.first.get_or_insert(ended);
        let left = self.left(first, progress);
        let counts = format!("{ended}/{slots}   {running} running   {unjudged} unjudged{left}");
        // Nobody is left to be told where standard error is closed.
        let _ = match self.style {
            Style::Line => {
                let full = usize::try_from(WIDTH as u64 * ended / slots).unwrap_or(0);
                let bar = format!(
                    "{}{}",
                    "━".repeat(full),
                    " ".repeat(WIDTH.saturating_sub(full))
                );
                write!(io::stderr().lock(), "\r\x1b[K  {bar} {counts}")
            }
            _ => {
                let tenth = 10 * ended / slots;
                if drawn.tenth.replace(tenth) == Some(tenth) {
                    Ok(())
                } else {
                    writeln!(io::stderr().lock(), "progress    {counts}")
                }
            }
        };
    }
}
