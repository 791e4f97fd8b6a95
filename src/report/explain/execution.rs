//! How a command is executed: workspace, limits, environment, containment.

use std::collections::BTreeMap;

use super::page::{code, command};
use super::words::{counted, listed, names};
use crate::protocol::model::{Containment, Execution, Workspace};
use crate::units::{Bytes, Micros};

/// A sentence about one key of an execution.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Sentence {
    /// What is said.
    pub text: String,
    /// Whether it says no more than that a rule is absent that nobody would ask about.
    pub is_idle: bool,
}

/// Says each key of an execution, in one sentence each, always in the same order.
pub(super) fn sentences(execution: &Execution) -> Vec<Sentence> {
    let Execution {
        workspace,
        timeout,
        grace,
        env,
        env_pass,
        requests,
        output_max,
        memory_max,
        processes_max,
        cpu_time_max,
        free_space_min,
        containment,
        cleanup,
    } = execution;
    let said = |text: String| Sentence {
        text,
        is_idle: false,
    };
    let rare = |is_idle: bool, text: String| Sentence { text, is_idle };
    vec![
        said(folder(workspace)),
        said(limit(*timeout)),
        said(format!(
            "A run that is to be ended is asked to end, and is killed {grace} later."
        )),
        said(variables(env)),
        said(passed(env_pass)),
        rare(requests.is_empty(), settings(requests)),
        said(format!(
            "Of each of its output streams the first {output_max} are kept."
        )),
        said(memory(*memory_max)),
        said(processes(*processes_max)),
        said(processor(*cpu_time_max)),
        rare(free_space_min.is_none(), space(*free_space_min)),
        said(format!(
            "Its processes are held together at least by {}.",
            tier(*containment)
        )),
        rare(cleanup.is_none(), clean(cleanup.as_deref())),
    ]
}

fn folder(workspace: &Workspace) -> String {
    let holds = match workspace {
        Workspace::Empty => "is empty".to_owned(),
        Workspace::Copy(folder) => format!("holds a copy of {}", code(folder)),
        Workspace::Git { url, commit } => {
            format!(
                "holds the commit {} of the repository {}",
                code(commit),
                code(url)
            )
        }
    };
    format!("A run works in a fresh folder, its workspace, that {holds}.")
}

fn limit(timeout: Option<Micros>) -> String {
    match timeout {
        Some(limit) => format!("A run may take {limit}."),
        None => "A run has no time limit.".to_owned(),
    }
}

fn variables(env: &BTreeMap<String, String>) -> String {
    let each: Vec<String> = env
        .iter()
        .map(|(name, value)| format!("{} to {}", code(name), code(value)))
        .collect();
    match each.as_slice() {
        [] => "The protocol sets no variable of its environment.".to_owned(),
        each => format!("Its environment sets {}.", listed(each)),
    }
}

fn passed(names_passed: &[String]) -> String {
    match names_passed {
        [] => "Of the caller's environment only `PATH` is passed on.".to_owned(),
        passed => format!(
            "Of the caller's environment `PATH` is passed on, and what the protocol names: {}. \
             Values are never recorded.",
            names(passed)
        ),
    }
}

fn settings(requests: &BTreeMap<String, String>) -> String {
    let each: Vec<String> = requests
        .iter()
        .map(|(name, value)| format!("{} = {}", code(name), code(value)))
        .collect();
    match each.as_slice() {
        [] => "No setting is requested.".to_owned(),
        each => format!(
            "It is asked to use {}, which is compared with what it reports that it used.",
            listed(each)
        ),
    }
}

fn memory(max: Option<Bytes>) -> String {
    match max {
        Some(max) => format!("It may use at most {max} of memory."),
        None => "Its memory has no limit.".to_owned(),
    }
}

fn processes(max: Option<u64>) -> String {
    match max {
        Some(max) => format!(
            "It may have at most {} at once.",
            counted(max, "process", "processes")
        ),
        None => "The number of its processes has no limit.".to_owned(),
    }
}

fn processor(max: Option<Micros>) -> String {
    match max {
        Some(max) => format!("It may use at most {max} of processor time."),
        None => "Its processor time has no limit.".to_owned(),
    }
}

fn space(min: Option<Bytes>) -> String {
    match min {
        Some(min) => format!("It starts only if at least {min} of space are free."),
        None => "No free space is asked for before it starts.".to_owned(),
    }
}

/// Says what a tier of containment is made of, the strongest first.
fn tier(containment: Containment) -> &'static str {
    match containment {
        Containment::PidnsCgroup => {
            "a process namespace and a control group of the run's own (`pidns_cgroup`)"
        }
        Containment::Pidns => "a process namespace of the run's own (`pidns`)",
        Containment::Cgroup => "a control group of the run's own (`cgroup`)",
        Containment::Subreaper => "a parent that inherits every orphan of the run (`subreaper`)",
        Containment::Pgroup => "a process group, which a process can leave (`pgroup`)",
    }
}

fn clean(cleanup: Option<&[String]>) -> String {
    match cleanup {
        Some(words) => format!(
            "After each run, and before the first, {} is executed.",
            command(words)
        ),
        None => "Nothing is executed to clean up after a run.".to_owned(),
    }
}
