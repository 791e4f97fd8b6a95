//! How the data will be analysed: what decides, and what comes besides.

use super::comparison;
use super::page::{Page, code};
use super::words::{decimal, listed, names};
use crate::protocol::model::{
    Analysis, Cluster, CostEffectiveness, Descriptive, Gate, Inference, Multiplicity,
    MultiplicityMethod, Protocol, Secondary, TimeToSuccess,
};
use crate::units::Money;

/// Says the comparison that decides, and what holds for all.
pub(super) fn section(page: &mut Page, protocol: &Protocol) {
    page.heading(2, "How will the data be analysed?");
    match &protocol.analysis {
        None => page.say("No analysis is registered."),
        Some(analysis) => all(page, analysis),
    }
}

fn all(page: &mut Page, analysis: &Analysis) {
    // Secondary comparisons, descriptions, looks and the seal stand where they are asked for.
    let Analysis {
        reference,
        treatments,
        alpha,
        cluster,
        inference,
        resamples,
        missing_share_max,
        seal: _,
        primary,
        secondary: _,
        multiplicity: _,
        looks: _,
        descriptive: _,
    } = analysis;
    page.item(compared(reference, treatments));
    page.item(
        "Repeats are averaged first: each task has one value for each arm, so that a comparison \
         is over tasks and not over runs.",
    );
    page.item(units(cluster));
    page.item(stands_for(*inference));
    page.item(format!(
        "The level of the tests, alpha, is {}.",
        decimal(alpha.num, alpha.den)
    ));
    page.item(format!(
        "A method that resamples takes {resamples} resamples."
    ));
    page.item(format!(
        "If the share of missing slots is above {missing_share_max}, the verdict is \
         “incomplete”, whatever the p-value."
    ));
    page.heading(3, "The comparison that decides (primary)");
    comparison::all(page, primary, None);
}

fn compared(reference: &str, treatments: &[String]) -> String {
    let each = names(treatments);
    match treatments.len() {
        1 => format!("{each} is compared with {}.", code(reference)),
        _ => format!(
            "{each} are compared with {}, each by itself.",
            code(reference)
        ),
    }
}

fn stands_for(inference: Inference) -> &'static str {
    match inference {
        Inference::TasksSampled => "The tasks stand for more tasks like them (`tasks_sampled`).",
        Inference::TasksFixed => "The tasks stand for themselves alone (`tasks_fixed`).",
    }
}

fn units(cluster: &Cluster) -> String {
    match cluster {
        Cluster::None => {
            "Tasks are taken for unrelated: there are no clusters (`none`).".to_owned()
        }
        Cluster::Field(field) => format!(
            "Tasks with the same value of their field {} are related and form a cluster.",
            code(field)
        ),
    }
}

/// Says the further comparisons, how tests share the level, and what is described.
pub(super) fn secondary(page: &mut Page, protocol: &Protocol) {
    page.heading(2, "What else is compared or described?");
    let Some(analysis) = &protocol.analysis else {
        page.say("Nothing besides what is said above is registered.");
        return;
    };
    if analysis.secondary.is_empty() {
        page.item("No secondary comparison is registered.");
    }
    multiplicity(page, analysis);
    descriptive(page, protocol, analysis.descriptive.as_ref());
    for secondary in &analysis.secondary {
        let Secondary { id, comparison } = secondary;
        page.heading(3, &format!("Secondary comparison {}", code(id)));
        comparison::all(page, comparison, Some(&analysis.primary));
    }
}

fn multiplicity(page: &mut Page, analysis: &Analysis) {
    let Some(Multiplicity { method, gate }) = &analysis.multiplicity else {
        page.item("No rule is registered by which several tests would share the level.");
        return;
    };
    let method = match method {
        MultiplicityMethod::Holm => "Holm's method (`holm`)",
        MultiplicityMethod::Hochberg => "Hochberg's method (`hochberg`)",
        MultiplicityMethod::Bonferroni => "Bonferroni's method (`bonferroni`)",
    };
    let family = match analysis.treatments.len() {
        1 => "the secondary comparisons",
        _ => "the primary comparisons of all treatments, and the secondary ones apart",
    };
    page.item(format!(
        "Several tests share the level by {method}: {family}."
    ));
    match gate {
        Gate::Primary => page.item(
            "Secondary comparisons are confirmatory only if the primary one rejects \
             (gate `primary`).",
        ),
        Gate::None => page.item(
            "Secondary comparisons are confirmatory whatever the primary one says (gate `none`).",
        ),
    }
}

fn descriptive(page: &mut Page, protocol: &Protocol, descriptive: Option<&Descriptive>) {
    let Some(Descriptive {
        pass_at,
        pass_hat,
        time_to_success,
        cost_effectiveness,
        subgroups,
    }) = descriptive
    else {
        page.item("No description besides the comparisons is registered.");
        return;
    };
    let reads_success = !pass_at.is_empty()
        || !pass_hat.is_empty()
        || time_to_success.is_some()
        || cost_effectiveness.is_some();
    if let (true, Some(success)) = (reads_success, protocol.success()) {
        page.item(format!(
            "A success is, in what is described, the outcome {}.",
            code(&success.id)
        ));
    }
    let numbers = |list: &[u32]| listed(&list.iter().map(u32::to_string).collect::<Vec<_>>());
    if !pass_at.is_empty() {
        page.item(format!(
            "Described without a test: the share of tasks with a success in k repeats, for k = {} (`pass_at`).",
            numbers(pass_at)
        ));
    }
    if !pass_hat.is_empty() {
        page.item(format!(
            "Described without a test: the share of tasks with a success in all of k repeats, for k = {} (`pass_hat`).",
            numbers(pass_hat)
        ));
    }
    if let Some(TimeToSuccess { limit }) = time_to_success {
        page.item(format!(
            "Described without a test: the time to the first success, up to a limit of {limit} (`time_to_success`)."
        ));
    }
    if let Some(CostEffectiveness { lambda }) = cost_effectiveness {
        let values: Vec<String> = lambda.iter().map(Money::to_string).collect();
        page.item(format!(
            "Described without a test: what a success costs, with `lambda` = {} (`cost_effectiveness`).",
            listed(&values)
        ));
    }
    if !subgroups.is_empty() {
        page.item(format!(
            "Described without a test: subgroups by the task's fields: {} (`subgroups`).",
            names(subgroups)
        ));
    }
}
