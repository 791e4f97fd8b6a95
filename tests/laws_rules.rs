//! Laws of the rules beside the plan: voids, stops, and what relaxing a rule does.

mod engine_common;

use std::collections::BTreeMap;

use engine_common::cases::cases;
use engine_common::design::Design;
use engine_common::gates::{Gate, Opens};
use engine_common::histories::histories;
use engine_common::random::Random;
use engine_common::random_rules::any_outage;
use engine_common::{Draft, Move, World};
use prereg::engine::apart::About;
use prereg::engine::budget::{self, Ledger};
use prereg::engine::decide;
use prereg::engine::event::Event;
use prereg::engine::outage::{self, Tally};
use prereg::engine::refusal::Refusal;
use prereg::engine::slice::{Counts, State};
use prereg::protocol::model::{
    Budget, BudgetCounts, BudgetMax, BudgetPer, BudgetUnknown, StopScope, UnknownStop,
};
use prereg::units::{Money, RunId};

#[test]
fn no_run_of_a_voided_block_counts() {
    let mut voided = 0;
    histories(|_, wanted, _, after| {
        let slice = &after.slice;
        let mut arms: BTreeMap<String, Counts> = BTreeMap::new();
        for run in slice.runs.values().flatten() {
            let place = run.place;
            if place.is_some_and(|place| !place.lane.is_registered()) {
                continue;
            }
            let lane = place.and_then(|place| slice.lane(place.lane));
            let voids = lane.map_or(0, |lane| lane.voids);
            let is_of_voided = place.is_some_and(|place| voids > place.voids);
            if is_of_voided {
                voided += 1;
                assert!(matches!(run.state, State::Live | State::Void), "{wanted:?}");
            }
            let counts = arms.entry(run.arm.clone()).or_default();
            counts.started += 1;
            counts.ended += u64::from(run.ended_at.is_some());
            counts.scored += u64::from(run.state == State::Scored);
            counts.unjudged += u64::from(run.state == State::Unjudged);
            counts.void += u64::from(run.state == State::Void);
        }
        assert_eq!(arms, slice.standing.arms, "{wanted:?}");
    });
    assert!(voided > 1_000, "only {voided} runs were of voided blocks");
}

#[test]
fn a_block_is_voided_whole_and_at_most_as_often_as_is_registered() {
    histories(|_, wanted, given, after| {
        for event in given.ruling.iter().flatten() {
            let Event::BlockVoided {
                voids,
                requeued,
                lanes,
                ..
            } = event
            else {
                continue;
            };
            let most = after.design().voids_max;
            assert_eq!(
                *requeued,
                most.is_none_or(|most| *voids <= most),
                "{wanted:?}"
            );
            for (lane, first) in lanes {
                let lane = after.slice.lane(*lane).unwrap();
                assert_eq!(lane.next, requeued.then_some(*first), "{wanted:?}");
                assert!(lane.runs.is_empty());
            }
        }
    });
}

#[test]
fn nothing_starts_in_a_scope_that_is_stopped_or_while_a_hold_fires() {
    let mut asked = BTreeMap::from(["study", "arm", "stage"].map(|scope| (scope, 0)));
    histories(|before, wanted, given, after| {
        let mut events = given.ruling.iter().flatten();
        let Some(place) = events.find_map(|event| match event {
            Event::Started { place, .. } => *place,
            _ => None,
        }) else {
            return;
        };
        let run = after.slice.run(RunId(after.slice.standing.runs)).unwrap();
        let design = before.design();
        let stage = format!("s{}", place.stage + 1);
        let staged = place.lane.is_registered() && !design.stages.is_empty();
        let standing = &before.slice.standing;
        let level = |about: About<'_>| {
            let newest = standing.readings.get("quota");
            let fields = standing.apart.newest("quota", newest, about);
            fields.and_then(|fields| fields.get("level")?.as_i64())
        };
        let mut passes = |gate: &Gate, scope: StopScope| {
            let (word, about) = match scope {
                StopScope::Study => ("study", About::Study),
                StopScope::Arm => ("arm", About::Arm(&run.arm)),
                StopScope::Stage if staged => ("stage", About::Stage(&stage)),
                StopScope::Stage => return,
            };
            asked.entry(word).and_modify(|asked| *asked += 1);
            match level(about) {
                Some(level) if !design.expires => assert!(level < gate.level, "{wanted:?}"),
                Some(_) => {}
                None => assert_eq!(gate.unknown, UnknownStop::Go, "{wanted:?}"),
            }
        };
        let by_hand = matches!(wanted, Move::ByHand(..));
        let stops = design.stops.iter();
        for gate in stops.filter(|gate| by_hand || !gate.at_session) {
            passes(gate, gate.scope);
        }
        for gate in &design.holds {
            passes(gate, StopScope::Study);
        }
    });
    assert!(
        asked.values().all(|asked| *asked > 20),
        "too few: {asked:?}"
    );
}

#[test]
fn raising_what_an_outage_needs_never_makes_one() {
    let mut random = Random(21);
    let arms = ["a", "b"];
    for _ in 0..cases(10_000) {
        let rule = any_outage(&mut random);
        let errors = arms.map(|arm| (arm.to_owned(), random.below(5) as u64));
        let stopped: u64 = errors.iter().map(|(_, count)| count).sum();
        let tally = Tally {
            ended: stopped + random.below(6) as u64,
            errors: errors.into_iter().filter(|(_, count)| *count > 0).collect(),
        };
        let mut higher = rule.clone();
        higher.ended_min += 1 + random.below(4) as u32;
        if outage::is_outage(&higher, arms, &tally) {
            assert!(outage::is_outage(&rule, arms, &tally), "{rule:?} {tally:?}");
        }
    }
}

#[test]
fn raising_a_budget_never_refuses_more() {
    let mut random = Random(22);
    let words = [
        None,
        Some(BudgetUnknown::Reserve),
        Some(BudgetUnknown::Hold),
        Some(BudgetUnknown::Stop),
    ];
    for _ in 0..cases(10_000) {
        let cost = random.chance(7);
        let mut small = |more: usize| random.below(8 + more) as u64;
        let ledger = Ledger {
            settled: Money(small(12)),
            unknown: small(0) / 4,
            unreadable: small(0) == 0,
            live: small(0),
            reruns: small(0),
        };
        let (max, more) = (small(30), 1 + small(8));
        let of = |max: u64| match cost {
            true => BudgetMax::Cost(Money(max)),
            false => BudgetMax::Count(max),
        };
        let rule = Budget {
            counts: if cost {
                BudgetCounts::Cost
            } else {
                BudgetCounts::Reruns
            },
            per: BudgetPer::Study,
            max: of(max),
            reserve: Some(Money(small(0))),
            unknown: *random.pick(&words),
        };
        let raised = Budget {
            max: of(max + more),
            ..rule.clone()
        };
        let rerun = random.chance(5);
        if budget::allows(&rule, &ledger, rerun).is_ok() {
            let found = budget::allows(&raised, &ledger, rerun);
            assert_eq!(found, Ok(()), "{rule:?} {ledger:?}");
        }
    }
}

/// Returns a design without the rule that a refusal names, where a rule can be left out alone.
fn relaxed(design: &Design, refusal: &Refusal) -> Option<Design> {
    let mut design = design.clone();
    let rule = refusal.rule()?;
    let parts: Vec<&str> = rule.split('/').skip(1).collect();
    let place = parts.get(1).and_then(|part| part.parse::<usize>().ok());
    match parts[0] {
        "switch" => design.switch = false,
        "breaker" if parts.len() == 1 => design.breaker = None,
        "cutoff" => design.cutoff = None,
        "outage" => design.outage = None,
        "preflight" => design.preflight = false,
        "probes" => design.probe = None,
        "actors" => design.actors = false,
        "stops" => design.stops[place?] = design.stops[place?].relaxed(),
        "holds" => design.holds[place?] = design.holds[place?].relaxed(),
        "stages" => {
            design.fits = None;
            for stage in &mut design.stages {
                stage.1 = Opens::Now;
            }
        }
        "budgets" => {
            let budget = &mut design.budgets[place?];
            budget.counts = BudgetCounts::Reruns;
            budget.max = BudgetMax::Count(u64::MAX);
        }
        "allocation" if refusal.code() == "cap-reached" => design.runs_max = u32::MAX,
        _ => return None,
    }
    Some(design)
}

/// Answers a move under other rules, where everything has happened as it has.
fn under(world: &World<'_>, design: Design, wanted: &Move) -> decide::Ruling {
    let draft = Draft::of(design);
    decide::decide(Some(&draft.rules), &world.slice, &world.asked(wanted))
}

#[test]
fn relaxing_the_rule_that_a_refusal_names_changes_the_ruling() {
    let mut met: BTreeMap<String, u32> = BTreeMap::new();
    // Making rules costs more than asking them.
    let most = cases(150);
    histories(|before, wanted, given, after| {
        let Err(refusal) = &given.ruling else { return };
        let count = met.entry(refusal.code().to_owned()).or_default();
        if before.opened.is_none() || *count >= most {
            return;
        }
        let Some(design) = relaxed(before.design(), refusal) else {
            return;
        };
        *count += 1;
        let found = under(after, design, wanted);
        assert_ne!(found.as_ref(), Err(refusal), "{wanted:?}");
    });
    for code in [
        "off",
        "breaker-open",
        "past-cutoff",
        "outage-hour",
        "not-ready",
        "probe-differs",
        "actor-not-admitted",
        "weekly",
        "five-hour",
        "stage-closed",
        "does-not-fit",
        "over-budget",
        "cap-reached",
    ] {
        assert!(met.contains_key(code), "no history meets {code}");
    }
}
