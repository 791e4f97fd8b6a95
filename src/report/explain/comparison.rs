//! One comparison in words: estimand, effect, test, interval, alternative, objective.

use std::fmt::Display;

use super::page::{Page, code};
use super::words::decimal;
use crate::protocol::model::{
    Alternative, Comparison, Effect, Estimand, Interval, Objective, Test,
};
use crate::units::Ratio;

/// Says a comparison; one that stands beside the primary is told where it is like that one.
pub(super) fn all(page: &mut Page, comparison: &Comparison, primary: Option<&Comparison>) {
    let Comparison {
        outcome,
        estimand,
        effect,
        test,
        interval,
        alternative,
        objective: what,
        margin,
    } = comparison;
    page.item(format!("It compares the outcome {}.", code(outcome)));
    let like = primary.map(|primary| primary.estimand);
    page.item(said(*estimand, like, estimand_of));
    let like = primary.map(|primary| primary.effect);
    page.item(said(*effect, like, effect_of));
    let like = primary.map(|primary| primary.test);
    page.item(said(*test, like, test_of));
    let like = primary.map(|primary| primary.interval);
    page.item(said(*interval, like, interval_of));
    let like = primary.map(|primary| (primary.alternative, primary.objective));
    page.item(said((*alternative, *what), like, direction));
    let like = primary.map(|primary| (primary.objective, primary.margin));
    page.item(said((*what, *margin), like, |(what, margin)| {
        format!("What is to be shown is {}", objective(what, margin))
    }));
}

/// Says what a comparison has, and whether the primary one has it too.
fn said<W: PartialEq, S: Display>(word: W, primary: Option<W>, words: impl Fn(W) -> S) -> String {
    let is_like_primary = primary.as_ref() == Some(&word);
    let words = words(word);
    match is_like_primary {
        true => format!("{words} (as in the primary comparison)."),
        false => format!("{words}."),
    }
}

fn estimand_of(estimand: Estimand) -> &'static str {
    match estimand {
        Estimand::AsDrawn => {
            "Every drawn task counts, and a missing value counts as the outcome says (`as_drawn`)"
        }
        Estimand::Available => {
            "Only values that are there count; a task counts if it has one in each arm compared \
             (`available`)"
        }
        Estimand::CompleteBlocks => {
            "Only tasks count whose slots in the arms compared were all judged (`complete_blocks`)"
        }
    }
}

fn effect_of(effect: Effect) -> &'static str {
    match effect {
        Effect::PairedDiff => {
            "The effect is the mean over tasks of treatment minus reference (`paired_diff`)"
        }
        Effect::RatioOfMeans => {
            "The effect is the treatment's mean over tasks divided by the reference's \
             (`ratio_of_means`)"
        }
        Effect::GeometricRatio => {
            "The effect is the geometric mean over tasks of treatment divided by reference \
             (`geometric_ratio`)"
        }
    }
}

fn test_of(test: Test) -> &'static str {
    match test {
        Test::TCr2 => {
            "The test is a t test of the mean task difference with the CR2 standard error and \
             Satterthwaite's degrees of freedom, which without clusters is the paired t test \
             (`t_cr2`)"
        }
        Test::SignFlip => {
            "The test is the exact sign-flip test of the differences of the units, tasks or whole \
             clusters (`sign_flip`)"
        }
        Test::McnemarExact => "The test is McNemar's exact test (`mcnemar_exact`)",
        Test::McnemarMid => "The test is McNemar's test with the mid-p value (`mcnemar_mid`)",
        Test::Wilcoxon => {
            "The test is Wilcoxon's signed rank test of the task differences (`wilcoxon`)"
        }
    }
}

fn interval_of(interval: Interval) -> String {
    let name = match interval {
        Interval::TCr2 => {
            "a t interval with the CR2 standard error and Satterthwaite's degrees of freedom \
             (`t_cr2`)"
        }
        Interval::T => "a t interval of the task differences (`t`)",
        Interval::Tango => "Tango's score interval (`tango`)",
        Interval::Newcombe => "Newcombe's interval for paired proportions (`newcombe`)",
        Interval::AgrestiMin => "Agresti and Min's interval for paired proportions (`agresti_min`)",
        Interval::Fieller => "Fieller's interval of a ratio (`fieller`)",
        Interval::BootstrapPercentile => "a percentile bootstrap interval (`bootstrap_percentile`)",
        Interval::BootstrapBca => {
            "a bias-corrected and accelerated bootstrap interval (`bootstrap_bca`)"
        }
    };
    format!("The interval is {name}")
}

fn direction((alternative, objective): (Alternative, Objective)) -> &'static str {
    match (objective, alternative) {
        (Objective::Equivalence, _) => {
            "Two one-sided tests are made, one from each margin (`two_sided`)"
        }
        (_, Alternative::TwoSided) => "The test is two-sided (`two_sided`)",
        (Objective::NonInferiority, Alternative::Greater) => {
            "The test is one-sided: treatment above reference minus the margin (`greater`)"
        }
        (Objective::NonInferiority, Alternative::Less) => {
            "The test is one-sided: treatment below reference plus the margin (`less`)"
        }
        (_, Alternative::Greater) => "The test is one-sided: treatment above reference (`greater`)",
        (_, Alternative::Less) => "The test is one-sided: treatment below reference (`less`)",
    }
}

/// Says what is to be shown.
pub(super) fn objective(objective: Objective, margin: Option<Ratio>) -> String {
    let margin = margin.map_or("a margin that is not named".to_owned(), |margin| {
        let margin = decimal(margin.num, margin.den);
        format!("the margin of {margin}, in the outcome's unit")
    });
    match objective {
        Objective::Superiority => {
            "that a treatment is better than the reference (`superiority`)".to_owned()
        }
        Objective::NonInferiority => format!(
            "that a treatment is not worse than the reference by as much as {margin} \
             (`non_inferiority`)"
        ),
        Objective::Equivalence => format!(
            "that a treatment differs from the reference by less than {margin}, either way \
             (`equivalence`)"
        ),
    }
}
