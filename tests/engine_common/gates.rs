//! The conditions of a built study on what the world reports: one reading, `quota`.

use prereg::protocol::model::{
    Estimate, FieldKind, Fits, Hold, Observation, Probe, ProbeFormat, Reading, ReadingFrom, Stage,
    Stop, StopAt, StopScope, UnknownStop,
};
use prereg::units::Ratio;
use serde_json::json;

/// A stop or a hold that fires at some level of the quota.
#[derive(Clone, Debug, PartialEq)]
pub struct Gate {
    pub id: &'static str,
    pub level: i64,
    /// Whether it is looked at when a session begins.
    pub at_session: bool,
    /// What a stop is about; a hold is about the study.
    pub scope: StopScope,
    pub unknown: UnknownStop,
}

/// When a stage opens.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Opens {
    /// At once.
    Now,
    /// When the stage before it is complete.
    Then,
    /// When the stage before it is complete and no stop or hold fires.
    ThenIfGo,
    /// Below a level of the quota.
    Below(i64),
}

/// Returns stages, called `s1`, `s2`, ….
pub fn stages(stages: &[(u32, Opens)], margin: Option<(u64, u64)>) -> Vec<Stage> {
    let fits = |(num, den)| Fits {
        margin: Ratio { num, den },
        estimate: Estimate::MedianCompleteBlock,
    };
    let places = stages.iter().enumerate();
    let before = |i: usize| format!("stages['s{i}'].complete");
    let stages = places.map(|(i, (repeats, opens))| Stage {
        id: format!("s{}", i + 1),
        repeats: *repeats,
        opens: match opens {
            Opens::Now => None,
            Opens::Then => Some(before(i)),
            Opens::ThenIfGo => Some(format!("{} && gates.go", before(i))),
            Opens::Below(level) => Some(format!("readings.quota.level < {level}")),
        },
        // Without a complete block there is no estimate, and the first stage would never start.
        fits: margin.filter(|_| i > 0).map(fits),
    });
    stages.collect()
}

pub fn quota(expires: bool) -> Reading {
    let fields = [
        ("level".to_owned(), FieldKind::Integer),
        ("until".to_owned(), FieldKind::Time),
    ];
    let unknown_when = "has(reading.until) && reading.until < now";
    Reading {
        id: "quota".to_owned(),
        fields: fields.into(),
        from: ReadingFrom::Observation,
        command: None,
        unknown_when: expires.then(|| unknown_when.to_owned()),
    }
}

pub fn stop(gate: &Gate) -> Stop {
    Stop {
        id: gate.id.to_owned(),
        when: when(gate),
        shows: None,
        scope: gate.scope,
        at: match gate.at_session {
            true => StopAt::Session,
            false => StopAt::Start,
        },
        unknown: gate.unknown,
    }
}

pub fn hold(gate: &Gate) -> Hold {
    Hold {
        id: gate.id.to_owned(),
        when: when(gate),
        until: Some("readings.quota.until".to_owned()),
        shows: None,
        unknown: gate.unknown,
    }
}

fn when(gate: &Gate) -> String {
    format!("readings.quota.level >= {}", gate.level)
}

impl Gate {
    /// The same gate where it never fires.
    pub fn relaxed(&self) -> Self {
        Self {
            level: i64::MAX,
            unknown: UnknownStop::Go,
            ..self.clone()
        }
    }
}

/// A probe that says what it expects, or is bound by the registration.
pub fn probe(says: bool) -> Probe {
    Probe {
        id: "agent".to_owned(),
        command: vec!["true".to_owned()],
        format: ProbeFormat::Text,
        expect: says.then(|| json!("v1")),
        expect_absent: Vec::new(),
        record_only: Vec::new(),
    }
}

pub fn observation() -> Observation {
    Observation {
        from: "stdout".to_owned(),
        error_stop: None,
        cost: Some("observed.cost".to_owned()),
        effective: Default::default(),
    }
}
