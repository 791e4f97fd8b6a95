//! Twelve ways to be left behind, four endings, every tier.

use std::sync::Mutex;
use std::time::Duration;

use super::common::{Dice, wait_until};
use super::hold::{Hold, tiers};

/// What writes as long as it lives.
const BEAT: &str = "#!/bin/sh\nwhile :; do echo beat >> \"$1\"; sleep 0.02; done\n";

/// How each shape is called, whether it stays in its group, and what it does before it waits.
const SHAPES: &[(&str, bool, &str)] = &[
    ("plain", true, "sh ./beat hb &"),
    ("setsid", false, "setsid sh ./beat hb &"),
    ("daemon", false, "(setsid sh -c '(sh ./beat hb &)' &)"),
    ("ignores TERM", true, "trap '' TERM; sh ./beat hb &"),
    ("stopped", true, "sh ./beat hb & sleep 0.1; kill -STOP $!"),
    (
        "runner",
        false,
        "printf 'echo beat >> hb; setsid sh ./next & exit' > next; sh ./next",
    ),
    (
        "storm",
        false,
        "i=0; while [ $i -lt 30 ]; do setsid sh ./beat hb & i=$((i + 1)); done",
    ),
    (
        "holds the pipe",
        false,
        "(setsid sh -c 'exec sh ./beat hb' &)",
    ),
    ("closed", false, "(setsid sh ./beat hb <&- >&- 2>&- &)"),
    ("bare", false, "env -i setsid /bin/sh ./beat hb &"),
    (
        "other group",
        false,
        "set -m; nohup sh ./beat hb > nohup.txt 2>&1 &",
    ),
    ("zombies", true, "sh -c 'true & true & exec sh ./beat hb' &"),
];

/// How a run comes to its end.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Ending {
    Itself,
    Limit,
    Cancel,
    /// The supervisor is killed, and nobody else is there.
    Killed,
}

const ENDINGS: [Ending; 4] = [
    Ending::Itself,
    Ending::Limit,
    Ending::Cancel,
    Ending::Killed,
];

/// Returns whether a tier ends a shape by itself.
fn is_held(tier: &str, in_group: bool, ending: Ending) -> bool {
    match (tier, ending) {
        ("pidns" | "pidns_cgroup", _) => true,
        (_, Ending::Killed) => false,
        ("pgroup", _) => in_group,
        _ => true,
    }
}

fn end_a_shape(tier: &str, shape: &(&str, bool, &str), ending: Ending) {
    let (name, _, script) = shape;
    let story = format!("{tier}, {name}, {ending:?}");
    let wait = match ending {
        Ending::Itself => "sleep 0.5",
        _ => "while :; do sleep 0.05; done",
    };
    let mut hold = Hold::new(tier, &format!("{script}\n{wait}"));
    std::fs::write(hold.path("runs/1/beat"), BEAT).unwrap();
    if ending == Ending::Limit {
        hold.order["timeout_us"] = 600_000.into();
    }
    let mut held = hold.begin();
    if matches!(ending, Ending::Cancel | Ending::Killed) {
        wait_until("nobody ever wrote", || !hold.text("runs/1/hb").is_empty());
    }
    match ending {
        Ending::Killed => {
            held.supervisor.kill().unwrap();
            held.supervisor.wait().unwrap();
            // The kernel ends what is inside as soon as it can.
            std::thread::sleep(Duration::from_millis(100));
            hold.assert_silent_but_for_groups("runs/1/hb", &story);
            return;
        }
        Ending::Cancel => hold.cancel(&held),
        _ => {}
    }
    let began = held.began;
    let ended = hold.end(held);
    let took = began.elapsed();
    assert!(took < Duration::from_secs(20), "{story}: {took:?}");
    assert_eq!(
        ended["timed_out"],
        ending == Ending::Limit,
        "{story}: {ended}"
    );
    assert_eq!(
        ended["interrupted"],
        ending == Ending::Cancel,
        "{story}: {ended}"
    );
    if ending == Ending::Itself {
        assert_eq!(ended["exit"], 0, "{story}: {ended}");
    }
    if ending == Ending::Limit {
        let wall = ended["wall_us"].as_u64().unwrap();
        // The limit, the grace, and a second.
        assert!((600_000..1_800_000).contains(&wall), "{story}: {ended}");
    }
    assert!(
        !hold.text("runs/1/hb").is_empty(),
        "{story}: nobody ever wrote"
    );
    hold.assert_silent("runs/1/hb", &story);
}

impl Hold {
    /// The group of a supervisor that was killed is left to whoever comes next.
    fn assert_silent_but_for_groups(&self, file: &str, story: &str) {
        let text = |hold: &Self| hold.text(file).len();
        let before = text(self);
        std::thread::sleep(Duration::from_millis(250));
        assert_eq!(text(self), before, "{story}: somebody is left");
        if let Some(bytes) = self.order["cgroup"]["Unix"].as_array() {
            let bytes: Vec<u8> = bytes
                .iter()
                .map(|byte| byte.as_u64().unwrap() as u8)
                .collect();
            std::fs::remove_dir(String::from_utf8(bytes).unwrap()).unwrap();
        }
    }
}

/// Ends shapes, several at once: `endings` of each in each tier, or all.
fn end_shapes(name: &str, endings: usize) {
    let mut dice = Dice::new(name);
    let mut cases = Vec::new();
    let mut left_out = 0;
    for tier in tiers() {
        for shape in SHAPES {
            let held = |ending: &Ending| is_held(&tier, shape.1, *ending);
            let mut all: Vec<Ending> = ENDINGS.into_iter().filter(held).collect();
            left_out += ENDINGS.len() - all.len();
            while all.len() > endings {
                all.swap_remove(dice.below(all.len() as u64) as usize);
            }
            cases.extend(all.into_iter().map(|ending| (tier.clone(), shape, ending)));
        }
    }
    println!(
        "{name}: {} cases; {left_out} are beyond their tier, which is said",
        cases.len()
    );
    let cases = Mutex::new(cases);
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                loop {
                    let case = cases.lock().unwrap().pop();
                    let Some((tier, shape, ending)) = case else {
                        return;
                    };
                    end_a_shape(&tier, shape, ending);
                }
            });
        }
    });
}

#[test]
fn nobody_is_left() {
    end_shapes("shapes", 1);
}

#[test]
#[ignore = "takes minutes; a sample runs always"]
fn nobody_is_left_of_any_shape() {
    end_shapes("all shapes", ENDINGS.len());
}
