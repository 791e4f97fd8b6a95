//! How slots are assigned and follow one another.

use super::page::{Page, code};
use super::words::{counted, listed};
use crate::protocol::model::{
    Allocation, ArmsOrder, Axis, BlockKind, OrderBy, Protocol, RunSeed, Serial,
};

/// Says the plan's order and what a start is held to.
pub(super) fn section(page: &mut Page, protocol: &Protocol) {
    page.heading(2, "How are runs assigned, and in which order?");
    // How many repeats there are stands with the sample size.
    let Allocation {
        nest,
        repeats: _,
        arms,
        by,
        block,
        serial,
        runs_max,
        run_seed,
    } = &protocol.allocation;
    page.item(
        "A slot is one task, one arm and one repeat. A run is one attempt at a slot; its number \
         is its place among all starts, and its position in its repeat is recorded.",
    );
    page.item(loops(nest, *arms));
    if !protocol.stages.is_empty() {
        page.item(
            "The stages follow one another: all tasks of one before the next. Repeats are counted \
             on from stage to stage.",
        );
    }
    page.item(turns(protocol, *arms));
    page.item(granted(*by));
    page.item(together(*block, protocol.stages.is_empty()));
    page.item(waiting(*serial));
    page.item(format!(
        "At most {} at once, controls included. A stale run is not counted, and of several \
         starts for one place exactly one wins.",
        counted(u64::from(*runs_max), "run is live", "runs are live")
    ));
    page.item(seed(*run_seed));
}

fn together(block: BlockKind, is_unstaged: bool) -> &'static str {
    match block {
        BlockKind::Task if is_unstaged => {
            "A block is all slots of a task; its slots are complete or void together."
        }
        BlockKind::Task => {
            "A block is all slots of a task in a stage; its slots are complete or void together."
        }
        BlockKind::Pair => {
            "A block is one repeat of a task, with every arm; its slots are complete or void \
             together."
        }
    }
}

fn waiting(serial: Serial) -> &'static str {
    match serial {
        Serial::Study => {
            "One run follows another in the whole study: a slot starts only after every slot \
             before it has ended."
        }
        Serial::Block => {
            "Blocks may run side by side; inside a block a slot starts only after every slot \
             before it has ended."
        }
        Serial::None => "No slot waits for another to end.",
    }
}

fn seed(run_seed: Option<RunSeed>) -> &'static str {
    match run_seed {
        Some(RunSeed::Sha256TaskRepeat) => {
            "A run gets a seed, `{run.seed}`, that is the same for all arms of a repeat: the first \
             8 hex digits of the SHA-256 of the task's id, a colon and the repeat counted from 0, \
             modulo 1,000,000."
        }
        None => "No seed is derived for a run.",
    }
}

fn loops(nest: &[Axis; 3], order: ArmsOrder) -> String {
    // An order that is not the listed one gives each turn to one arm after another.
    let in_turn = order != ArmsOrder::Alternating && nest[2] != Axis::Arm;
    let one = |axis: Axis| match axis {
        Axis::Task => "task",
        Axis::Repeat => "repeat",
        Axis::Arm if in_turn => "turn",
        Axis::Arm => "arm",
    };
    let [outer, middle, inner] = nest.map(one);
    format!(
        "The plan goes through every {outer}, for each {outer} through every {middle}, and for \
         each {middle} through every {inner}."
    )
}

fn turns(protocol: &Protocol, order: ArmsOrder) -> String {
    let arms: Vec<String> = protocol.arms.iter().map(|arm| code(&arm.id)).collect();
    let (n, arms) = (arms.len(), listed(&arms));
    match order {
        ArmsOrder::Alternating => {
            format!("In every repeat the arms take their turns as listed (`alternating`): {arms}.")
        }
        ArmsOrder::Counterbalanced => format!(
            "The arms are counterbalanced: for the task at place i of the draw and repeat r, both \
             counted from 0, the first turn is that of arm number (i + r) mod {n}, and the others \
             follow as listed, the first after the last. The arms are numbered from 0: {arms}."
        ),
        ArmsOrder::Williams => format!(
            "The arms take their turns by a balanced Latin square (`williams`) over {arms}, \
             numbered from 0. Row 0 is 0, 1, n − 1, 2, n − 2 and so on with n = {n}; row j adds j \
             to each, modulo n; an odd n has all rows once more, reversed. The task at place i \
             of the draw takes in repeat r, both counted from 0, the row (i + r) modulo the number \
             of rows."
        ),
        ArmsOrder::Shuffled => format!(
            "The turns of {arms} are shuffled by the draw's seed: in each repeat by the SHA-256 \
             of `prereg-arms/1`, the seed, the task's id, the repeat counted from 0 and the arm's \
             id, with a line feed between each two, the smallest first."
        ),
    }
}

fn granted(by: OrderBy) -> &'static str {
    match by {
        OrderBy::Plan => {
            "Starts go by the plan: a start is granted for one slot alone, the earliest that may \
             start now. Requeued blocks come first, then the plan's order, without the slots that \
             wait for another to end. Any other start is refused as `out-of-order`. The slot of a \
             run is fixed at its start."
        }
        OrderBy::Counts => {
            "Starts go by counts: an arm's next slot on a task starts when the other arm has \
             ended exactly as many as the turns say and has no live run, and a task's first \
             slot only when every earlier task has ended all of its slots. Any other start is \
             refused as `out-of-order`. The slot of a run is its rank among the counted runs of \
             its task and arm."
        }
    }
}
