//! Numbers of a comparison, and the table of its estimands.

use crate::analysis::Flag;
use crate::analysis::described::repeats::Repeats;
use crate::analysis::means::mean::Mean;
use crate::analysis::paired::paired_table::PairedCounts;
use crate::analysis::results::outcome::Effect;
use crate::analysis::results::tables::McNemarTables;
use crate::report::answer::{hundredths, level_at, p_value, percent, rounded};
use crate::report::layout::{heading, line};

/// What is compared under one estimand.
pub(super) struct Row<'a> {
    pub(super) reference: Option<f64>,
    pub(super) treatment: Option<f64>,
    pub(super) effect: &'a Effect,
    pub(super) tasks: usize,
}

/// The five estimands of a binary outcome, in the order of the page.
pub(super) struct Rows<'a> {
    pub(super) as_drawn: Row<'a>,
    pub(super) available: Row<'a>,
    pub(super) complete_blocks: Row<'a>,
    pub(super) bound_low: Row<'a>,
    pub(super) bound_high: Row<'a>,
}

impl Row<'_> {
    /// Says the effect in points with its interval and its p, and over what.
    pub(super) fn sentence(&self, alpha: f64) -> String {
        let mean = &self.effect.diff;
        let clusters = match &mean.clustered {
            Some(errors) => format!(", {} clusters", errors.clusters),
            None => String::new(),
        };
        format!(
            "{} points ({} {}; {}, {}{clusters}; {} tasks)",
            points(mean.mean),
            level_at(alpha),
            ends(mean),
            self.p(),
            self.test(),
            self.tasks,
        )
    }

    /// Returns the p of the test: with clusters the t test on CR2, without the exact sign flip.
    fn p(&self) -> String {
        let error = self.effect.diff.deciding();
        let flip = self.effect.sign_flip_task.as_ref();
        match (&self.effect.diff.clustered, flip) {
            (None, Some(flip)) => shown_p(flip.p_two_sided, flip.flag),
            _ => shown_p(error.p, error.flag),
        }
    }

    fn test(&self) -> &'static str {
        match (&self.effect.diff.clustered, &self.effect.sign_flip_task) {
            (Some(_), _) => "t with CR2",
            (None, Some(_)) => "sign flip",
            (None, None) => "paired t",
        }
    }
}

/// Writes every estimand of a binary outcome; only the drawn tasks may have a p.
pub(super) fn estimands(page: &mut String, name: &str, rows: &Rows<'_>, alpha: f64, tested: bool) {
    let interval = format!("{} interval", level_at(alpha));
    let head = format!(
        "{:>16} {:>9} {:>8}   {interval:<15} {:>7}",
        "reference", "treatment", "points", "tasks"
    );
    heading(page, name, &head);
    for (place, (estimand, row)) in [
        ("as drawn", &rows.as_drawn),
        ("available", &rows.available),
        ("complete blocks", &rows.complete_blocks),
        ("bound low", &rows.bound_low),
        ("bound high", &rows.bound_high),
    ]
    .into_iter()
    .enumerate()
    {
        let p = match tested && place == 0 {
            true => format!("   {}", row.p()),
            false => String::new(),
        };
        page.push_str(&format!(
            "  {estimand:<16} {:>9} {:>9} {:>8}   {:<15} {:>7}{p}\n",
            share(row.reference),
            share(row.treatment),
            points(row.effect.diff.mean),
            ends(&row.effect.diff),
            row.tasks
        ));
    }
}

/// Writes how tasks differ: pairs of single runs, or what repeats say.
pub(super) fn differing(page: &mut String, tables: &McNemarTables, repeats: Option<&Repeats>) {
    if let Some(table) = &tables.single {
        line(page, "pairs", &pairs(table.counts));
    }
    let Some(repeats) = repeats else { return };
    let both = repeats.a.passes.0.iter().zip(&repeats.b.passes.0);
    for ((key, a), (_, b)) in
        both.filter(|((key, _), _)| tables.single.is_none() || key == "pass@1")
    {
        let told = |value: &Option<f64>| value.map_or_else(|| "-".to_owned(), percent);
        line(page, key, &format!("{} against {}", told(b), told(a)));
    }
}

/// Says on how many tasks both, one, or none of the arms succeed.
pub(super) fn pairs(counts: PairedCounts) -> String {
    let [both, reference, treatment, neither] = counts.cells();
    format!(
        "both {both}, reference alone {reference}, treatment alone {treatment}, neither {neither}"
    )
}

/// Writes a share in per cent.
pub(super) fn rate(share: Option<f64>) -> String {
    share.map_or_else(|| "no value".to_owned(), percent)
}

/// Writes a share with three decimals.
pub(super) fn share(share: Option<f64>) -> String {
    share.map_or_else(|| "-".to_owned(), |share| format!("{share:.3}"))
}

/// Writes a difference of shares in points, with its sign.
pub(super) fn points(difference: Option<f64>) -> String {
    let Some(value) = difference else {
        return "-".to_owned();
    };
    let points = hundredths(value);
    match points.starts_with('-') {
        true => points,
        false => format!("+{points}"),
    }
}

/// Writes the interval that decides of a mean of differences of shares.
pub(super) fn ends(mean: &Mean) -> String {
    within(mean.deciding().ci)
}

/// Writes an interval of a difference of shares in points.
pub(super) fn within(ends: Option<[f64; 2]>) -> String {
    ends.map_or_else(
        || "none".to_owned(),
        |ends| {
            // Two shares differ by no more than 1.
            let [low, high] = ends.map(|end| hundredths(end.clamp(-1.0, 1.0)));
            format!("{low} to {high}")
        },
    )
}

/// Writes a number.
pub(super) fn number(value: Option<f64>) -> String {
    value.map_or_else(|| "-".to_owned(), |value| rounded(value, 4))
}

/// Writes an interval of numbers.
pub(super) fn interval(ends: Option<[f64; 2]>) -> String {
    ends.map_or_else(
        || "none".to_owned(),
        |[low, high]| format!("{} to {}", rounded(low, 4), rounded(high, 4)),
    )
}

/// Writes a p; one below the range of a double is small, and not unknown.
pub(super) fn shown_p(p: Option<f64>, flag: Option<Flag>) -> String {
    match (p, flag) {
        (Some(p), _) => p_value(p),
        (None, Some(Flag::BelowRange)) => p_value(f64::MIN_POSITIVE),
        (None, _) => "no p".to_owned(),
    }
}
