//! What ends the study or makes starts wait: readings, stops, holds, looks.

use super::page::{Page, code, command};
use super::words::{decimal, declared, listed};
use crate::protocol::model::{
    Backoff, Hold, Looks, Protocol, Reading, ReadingFrom, Spending, Stop, StopAt, StopScope,
    UnderRun, UnknownStop,
};

/// Says the readings and every rule that looks at them, and the looks.
pub(super) fn section(page: &mut Page, protocol: &Protocol) {
    for reading in &protocol.readings {
        self::reading(page, reading);
    }
    if protocol.stops.is_empty() {
        page.heading(3, "Stops");
        page.item("No stopping rule is registered.");
    }
    for stop in &protocol.stops {
        self::stop(page, stop);
    }
    for hold in &protocol.holds {
        self::hold(page, hold);
    }
    if let Some(backoff) = &protocol.backoff {
        self::backoff(page, backoff);
    }
    page.heading(3, "Looks before the end");
    let analysis = protocol.analysis.as_ref();
    match analysis.and_then(|analysis| analysis.looks.as_ref()) {
        Some(looks) => self::looks(page, looks),
        None => page.item("No look is registered: the tests are made once, at the end."),
    }
}

fn reading(page: &mut Page, reading: &Reading) {
    let Reading {
        id,
        fields,
        from,
        command: words,
        unknown_when,
    } = reading;
    page.heading(3, &format!("Reading {}", code(id)));
    page.item(match from {
        ReadingFrom::Observation => "It comes from what is observed of runs (`observation`).",
        ReadingFrom::Command => "It comes from a command (`command`).",
        ReadingFrom::Operator => "The operator adds it by hand (`operator`).",
    });
    if let Some(words) = words {
        page.item(format!("The command is {}.", command(words)));
    }
    page.item(if fields.is_empty() {
        "It has no field.".to_owned()
    } else {
        format!("Its fields are {}.", declared(fields))
    });
    page.item(
        "The newest reading counts, whole: a field that it does not have is unknown, not what it \
         was before.",
    );
    page.expression_if("It says nothing any more when", unknown_when.as_ref());
}

fn stop(page: &mut Page, stop: &Stop) {
    let Stop {
        id,
        when,
        shows,
        scope,
        at,
        unknown,
    } = stop;
    page.heading(3, &format!("Stop {}", code(id)));
    page.expression("It fires when", when);
    page.item(match scope {
        StopScope::Study => {
            "As long as it fires nothing starts, and a session of `prereg run` ends."
        }
        StopScope::Arm => {
            "It is about each arm alone, by what the arm's own runs observed last, or what was read since \
             of all. As long as it fires for an arm no run of that arm starts, and what comes after \
             it in the order waits."
        }
        StopScope::Stage => {
            "It is about each stage alone, by what the stage's own runs observed last, or what was read \
             since of all. As long as it fires for a stage no slot of that stage starts; stages after \
             it start as soon as they are open."
        }
    });
    page.item(match at {
        StopAt::Start => "It is looked at when a run of an arm is to start (`start`).",
        StopAt::Session => "It is looked at when a session of `prereg run` begins (`session`).",
    });
    page.item(unknown_reading(*unknown));
    page.expression_if("Shown beside it, with three decimals", shows.as_ref());
}

fn hold(page: &mut Page, hold: &Hold) {
    let Hold {
        id,
        when,
        until,
        shows,
        unknown,
    } = hold;
    page.heading(3, &format!("Hold {}", code(id)));
    page.expression("Starts wait, and no attempt is used up, when", when);
    match until {
        Some(until) => page.expression("They wait until", until),
        None => page.item("It does not say until when."),
    }
    page.item(unknown_reading(*unknown));
    page.expression_if("Shown beside it, with three decimals", shows.as_ref());
}

fn unknown_reading(unknown: UnknownStop) -> &'static str {
    match unknown {
        UnknownStop::Go => "Where a reading that it needs is unknown, starts go on (`go`).",
        UnknownStop::Hold => "Where a reading that it needs is unknown, starts wait (`hold`).",
        UnknownStop::Stop => {
            "Where a reading that it needs is unknown, that is taken for a stop (`stop`)."
        }
    }
}

fn backoff(page: &mut Page, backoff: &Backoff) {
    let Backoff {
        initial,
        max,
        reset_margin,
        wait_max,
    } = backoff;
    page.heading(3, "How long starts wait");
    page.item(format!(
        "Where it is unknown or past until when: {initial} first, then each time twice as long, \
         {max} at most."
    ));
    page.item(format!(
        "Where it is known: until then and {reset_margin} more, {wait_max} at most."
    ));
}

fn looks(page: &mut Page, looks: &Looks) {
    let Looks {
        fractions,
        spending,
        under_run,
        evalue,
    } = looks;
    let shares = fractions.iter().map(|share| decimal(share.num, share.den));
    let shares: Vec<String> = shares.collect();
    page.item(format!(
        "There is a look at these shares of the drawn tasks: {}. Each takes the first tasks of \
         the draw, once all their slots have ended.",
        listed(&shares)
    ));
    page.item(match spending {
        Spending::Obf => "The level is spent as by O'Brien and Fleming (`obf`).",
        Spending::Pocock => "The level is spent as by Pocock (`pocock`).",
        Spending::Power => "The level is spent as the square of the share (`power`).",
    });
    page.item(
        "While a look is due nothing starts. One that shows what is to be shown ends the study: nothing more \
         starts, and the answer is that of its tasks. A look that is not on this list is a deviation.",
    );
    page.item(match under_run {
        UnderRun::SpendToT => {
            "If the study ends early, what is spent is what the share reached allows \
             (`spend_to_t`)."
        }
        UnderRun::SpendAll => {
            "If the study ends early, the last look gets all that is left (`spend_all`)."
        }
    });
    page.item(match evalue {
        true => "An e-value is kept beside the looks.",
        false => "No e-value is kept beside the looks.",
    });
}
