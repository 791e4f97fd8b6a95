//! Limits on what a run uses, by control groups: of the unified hierarchy where it has the controllers,
//! else of one each.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use super::cgroup::{Cgroup, Hierarchy};
use super::order::Limits;

/// The least time between two looks at the processor time.
const LOOK_MIN: Duration = Duration::from_millis(50);

/// The groups that a run is executed in.
pub(super) struct Groups {
    /// That of the tier, by which everything in it can be ended.
    unified: Option<Cgroup>,
    /// Those of controllers that have hierarchies of their own.
    others: Vec<Cgroup>,
    meter: Option<Meter>,
    /// Where it is said that the memory was not enough.
    memory: Option<PathBuf>,
}

impl Groups {
    /// Makes the groups of a run and sets its limits; refuses limits that the machine cannot set.
    pub(super) fn make(unified: Option<&Path>, limits: &Limits) -> io::Result<Self> {
        let unified = unified.map(Cgroup::make).transpose()?;
        let mut made = Self {
            unified,
            others: Vec::new(),
            meter: None,
            memory: None,
        };
        if let Some(bytes) = limits.memory {
            let at = made.limit(
                limits,
                "memory",
                &["memory.max", "memory.limit_in_bytes"],
                bytes,
            )?;
            made.memory = ["memory.events", "memory.oom_control"]
                .map(|name| at.join(name))
                .into_iter()
                .find(|path| path.exists());
        }
        if let Some(count) = limits.processes {
            made.limit(limits, "pids", &["pids.max"], count)?;
        }
        if let Some(max_us) = limits.cpu_us {
            let group = made.unified.as_ref();
            let group = group.ok_or_else(|| lacks("processor time needs a control group"))?;
            made.meter = Some(Meter::new(group.path().join("cpu.stat"), max_us)?);
        }
        Ok(made)
    }

    /// Writes a limit where its controller is; returns the group.
    fn limit(
        &mut self,
        limits: &Limits,
        controller: &str,
        names: &[&str],
        value: u64,
    ) -> io::Result<PathBuf> {
        let write = |group: &Path| {
            let file = names
                .iter()
                .map(|name| group.join(name))
                .find(|file| file.exists());
            let file =
                file.ok_or_else(|| lacks(&format!("there is no controller `{controller}`")))?;
            fs::write(file, value.to_string())
        };
        if let Some(group) = self
            .unified
            .as_ref()
            .filter(|group| group.enable(controller))
        {
            write(group.path())?;
            return Ok(group.path().to_owned());
        }
        let home = Hierarchy::of(controller)
            .map_err(|why| lacks(&format!("the controller `{controller}`: {why}")))?;
        let group = Cgroup::make(&home.join(&limits.name))?;
        let path = group.path().to_owned();
        self.others.push(group);
        write(&path)?;
        Ok(path)
    }

    /// Moves this process into the groups: what it starts from now on is in there.
    pub(super) fn enter(&self) -> io::Result<()> {
        self.all().try_for_each(Cgroup::enter)
    }

    /// Moves this process into the groups while something is started there.
    pub(super) fn within<T>(&self, start: impl FnOnce() -> T) -> io::Result<T> {
        self.enter()?;
        let started = start();
        self.all().try_for_each(Cgroup::leave)?;
        Ok(started)
    }

    fn all(&self) -> impl Iterator<Item = &Cgroup> {
        self.unified.iter().chain(&self.others)
    }

    /// Ends everything at once, where the tier can.
    pub(super) fn kill(&self) {
        if let Some(group) = &self.unified {
            group.kill();
        }
    }

    /// Ends what is left and removes the groups.
    pub(super) fn end(&self) -> io::Result<()> {
        self.all().try_for_each(Cgroup::end)
    }

    /// Returns whether something was ended because the memory was not enough.
    pub(super) fn was_short_of_memory(&self) -> bool {
        let said = self
            .memory
            .as_ref()
            .and_then(|path| fs::read_to_string(path).ok());
        said.is_some_and(|said| number(&said, "oom_kill").is_some_and(|count| count > 0))
    }

    /// Returns when the processor time is to be looked at next.
    pub(super) fn next_look(&self) -> Option<Instant> {
        self.meter.as_ref().map(|meter| meter.next)
    }

    /// Returns whether more processor time was used than may be.
    pub(super) fn is_over_limit(&mut self) -> bool {
        self.meter.as_mut().is_some_and(Meter::is_over)
    }
}

fn lacks(why: &str) -> io::Error {
    io::Error::new(io::ErrorKind::Unsupported, why.to_owned())
}

/// Returns the number that stands behind a name at the start of a line.
fn number(text: &str, name: &str) -> Option<u64> {
    let mut lines = text.lines();
    lines.find_map(|line| {
        line.strip_prefix(name)?
            .strip_prefix(' ')?
            .trim()
            .parse()
            .ok()
    })
}

/// Looks at the processor time no sooner than it can have run out: a run that sleeps is looked at a few
/// times in all.
struct Meter {
    stat: PathBuf,
    max_us: u64,
    processors: u64,
    next: Instant,
}

impl Meter {
    fn new(stat: PathBuf, max_us: u64) -> io::Result<Self> {
        let processors = std::thread::available_parallelism()?.get() as u64;
        let mut meter = Self {
            stat,
            max_us,
            processors,
            next: Instant::now(),
        };
        let used = meter.used()?;
        meter.plan(used);
        Ok(meter)
    }

    fn used(&self) -> io::Result<u64> {
        let text = fs::read_to_string(&self.stat)?;
        number(&text, "usage_usec").ok_or_else(|| lacks("control groups do not tell the time"))
    }

    fn plan(&mut self, used: u64) {
        let left = self.max_us.saturating_sub(used) / self.processors;
        self.next = Instant::now() + Duration::from_micros(left).max(LOOK_MIN);
    }

    fn is_over(&mut self) -> bool {
        // What cannot be read any more is over: nothing that is registered is passed over.
        let used = self.used().unwrap_or(u64::MAX);
        self.plan(used);
        used >= self.max_us
    }
}
