//! One comparison in words: estimand, effect, test, interval, alternative, objective.

use super::page::{Page, code};
use crate::protocol::draft::{
    Alternative, Comparison, Effect, Estimand, Interval, Objective, Secondary, Test,
};

/// What is asked of a comparison, and which of it is the primary's.
struct Asked<T> {
    value: Option<T>,
    inherited: bool,
}

impl<T: Copy> Asked<T> {
    fn own(value: Option<T>) -> Self {
        Self {
            value,
            inherited: false,
        }
    }

    fn or(own: Option<T>, primary: Option<T>) -> Self {
        Self {
            value: own.or(primary),
            inherited: own.is_none() && primary.is_some(),
        }
    }

    /// Says the value, or what is said where there is none.
    fn said(&self, words: impl Fn(T) -> String, none: &str) -> String {
        let as_primary = if self.inherited {
            " (as in the primary comparison)"
        } else {
            ""
        };
        match self.value {
            Some(value) => format!("{}{as_primary}.", words(value)),
            None => none.to_owned(),
        }
    }
}

/// Says the comparison that decides.
pub(super) fn primary(page: &mut Page, comparison: &Comparison) {
    let Comparison {
        outcome,
        estimand,
        effect,
        test,
        interval,
        alternative,
        objective,
        margin,
    } = comparison;
    page.item(format!("It compares the outcome {}.", code(&outcome.0)));
    estimand_of(page, &Asked::own(*estimand));
    effect_of(page, &Asked::own(*effect));
    test_of(page, &Asked::own(*test));
    interval_of(page, &Asked::own(*interval));
    alternative_of(page, &Asked::own(*alternative));
    objective_of(page, &Asked::own(*objective), *margin);
}

/// Says a further comparison; what it leaves out is the primary's.
pub(super) fn secondary(page: &mut Page, secondary: &Secondary, primary: &Comparison) {
    let Secondary {
        id,
        outcome,
        estimand,
        effect,
        test,
        interval,
        alternative,
        objective,
        margin,
    } = secondary;
    page.heading(3, &format!("Secondary comparison {}", code(&id.0)));
    page.item(format!("It compares the outcome {}.", code(&outcome.0)));
    estimand_of(page, &Asked::or(*estimand, primary.estimand));
    effect_of(page, &Asked::or(*effect, primary.effect));
    test_of(page, &Asked::or(*test, primary.test));
    interval_of(page, &Asked::or(*interval, primary.interval));
    alternative_of(page, &Asked::or(*alternative, primary.alternative));
    // One that is to show something else does not take the primary's margin.
    let inherited = objective.is_none().then_some(primary.margin).flatten();
    objective_of(
        page,
        &Asked::or(*objective, primary.objective),
        margin.or(inherited),
    );
}

fn estimand_of(page: &mut Page, asked: &Asked<Estimand>) {
    let words = |estimand| match estimand {
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
    };
    page.item(asked.said(|one| words(one).to_owned(), "No estimand is named."));
}

fn effect_of(page: &mut Page, asked: &Asked<Effect>) {
    let words = |effect| match effect {
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
    };
    page.item(asked.said(
        |one| words(one).to_owned(),
        "No measure of effect is named.",
    ));
}

fn test_of(page: &mut Page, asked: &Asked<Test>) {
    let words = |test| match test {
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
    };
    page.item(asked.said(|one| words(one).to_owned(), "No test is named."));
}

fn interval_of(page: &mut Page, asked: &Asked<Interval>) {
    let words = |interval| match interval {
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
    let said = |one| format!("The interval is {}", words(one));
    page.item(asked.said(said, "No interval is named."));
}

fn alternative_of(page: &mut Page, asked: &Asked<Alternative>) {
    let words = |alternative| match alternative {
        Alternative::TwoSided => "The test is two-sided (`two_sided`)",
        Alternative::Greater => "The test is one-sided: treatment above reference (`greater`)",
        Alternative::Less => "The test is one-sided: treatment below reference (`less`)",
    };
    page.item(asked.said(|one| words(one).to_owned(), "No alternative is named."));
}

fn objective_of(page: &mut Page, asked: &Asked<Objective>, margin: Option<f64>) {
    let said = |one| format!("What is to be shown is {}", objective(one, margin));
    page.item(asked.said(said, "No objective is named."));
}

/// Says what is to be shown.
pub(super) fn objective(objective: Objective, margin: Option<f64>) -> String {
    let margin = margin.map_or("a margin that is not named".to_owned(), |margin| {
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
