//! A control group of one run, by which everything in it can be ended, also by whoever comes later.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// How long ending everything may take on a machine that is short of everything.
pub(super) const END_MAX: Duration = Duration::from_secs(10);
/// How long is slept between two looks at a group that is ending.
const LOOK: Duration = Duration::from_millis(2);

/// A control group that was made for a run.
pub(super) struct Cgroup {
    path: PathBuf,
    home: PathBuf,
}

/// Returns the folder of the unified control group that this process is in.
pub(super) fn home() -> Result<PathBuf, String> {
    Hierarchy::of("")
}

/// One of the trees of control groups.
pub(super) struct Hierarchy;

impl Hierarchy {
    /// Returns the folder of the group that this process is in, in the tree of a controller; the unified
    /// tree has no name.
    pub(super) fn of(controller: &str) -> Result<PathBuf, String> {
        let unread = |error: io::Error| format!("control groups cannot be looked up: {error}");
        let mounts = fs::read_to_string("/proc/self/mounts").map_err(unread)?;
        let mount = mounts.lines().find_map(|line| {
            let mut fields = line.split(' ').skip(1);
            let (place, kind, options) = (fields.next()?, fields.next()?, fields.next()?);
            let is_it = match controller {
                "" => kind == "cgroup2",
                _ => kind == "cgroup" && options.split(',').any(|option| option == controller),
            };
            is_it.then_some(place)
        });
        let mount = mount.ok_or("it is not mounted")?;
        let own = fs::read_to_string("/proc/self/cgroup").map_err(unread)?;
        let own = own.lines().find_map(|line| {
            let mut fields = line.splitn(3, ':').skip(1);
            let (controllers, path) = (fields.next()?, fields.next()?);
            let is_it = controllers.split(',').any(|own| own == controller);
            is_it.then(|| path.trim_start_matches('/'))
        });
        let home = Path::new(mount).join(own.ok_or("this process is in none of its groups")?);
        if !home.is_dir() {
            return Err(format!("`{}` is not to be seen", home.display()));
        }
        Ok(home)
    }
}

impl Cgroup {
    /// Makes a group; what stood under its name is ended and removed.
    pub(super) fn make(path: &Path) -> io::Result<Self> {
        let home = path.parent().unwrap_or(path).to_owned();
        let made = Self {
            path: path.to_owned(),
            home,
        };
        if let Err(error) = fs::create_dir(path) {
            if error.kind() != io::ErrorKind::AlreadyExists {
                let why = format!("the control group `{}`: {error}", path.display());
                return Err(io::Error::new(error.kind(), why));
            }
            end(path)?;
            fs::create_dir(path)?;
        }
        Ok(made)
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Returns whether the group has a controller, once that was asked for.
    pub(super) fn enable(&self, controller: &str) -> bool {
        let has = || {
            let controllers = fs::read_to_string(self.path.join("cgroup.controllers"));
            let controllers = controllers.unwrap_or_default();
            controllers.split_whitespace().any(|own| own == controller)
        };
        // Refused where processes stand in the group above: another tree may have it.
        has()
            || (fs::write(
                self.home.join("cgroup.subtree_control"),
                format!("+{controller}"),
            )
            .is_ok()
                && has())
    }

    /// Moves this process into the group: what it starts from now on is in there.
    pub(super) fn enter(&self) -> io::Result<()> {
        move_to(&self.path)
    }

    /// Moves this process back.
    pub(super) fn leave(&self) -> io::Result<()> {
        move_to(&self.home)
    }

    /// Ends everything in the group at once.
    pub(super) fn kill(&self) {
        // Who looks whether it is empty finds out that this failed.
        let _ = fs::write(self.path.join("cgroup.kill"), "1");
    }

    /// Ends everything in the group and removes it.
    pub(super) fn end(&self) -> io::Result<()> {
        end(&self.path)
    }
}

fn move_to(path: &Path) -> io::Result<()> {
    fs::write(path.join("cgroup.procs"), "0")
}

/// Ends everything in a group and removes it; one that is gone is fine.
pub(super) fn end(path: &Path) -> io::Result<()> {
    let began = Instant::now();
    loop {
        match remove(path) {
            Err(error) if began.elapsed() > END_MAX => return Err(error),
            Err(_) => {}
            Ok(()) => return Ok(()),
        }
        // Not there any more: looked at again above.
        let _ = fs::write(path.join("cgroup.kill"), "1");
        std::thread::sleep(LOOK);
    }
}

/// Removes a group and those that were made in it, if they are empty.
fn remove(path: &Path) -> io::Result<()> {
    match fs::remove_dir(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        Ok(()) => return Ok(()),
        Err(_) => {}
    }
    for entry in fs::read_dir(path)? {
        let entry = entry?;
        if entry.file_type()?.is_dir() {
            remove(&entry.path())?;
        }
    }
    fs::remove_dir(path)
}
