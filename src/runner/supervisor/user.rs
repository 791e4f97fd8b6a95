//! Name spaces for whoever is not the superuser: in a user name space that maps a user to itself.

use std::fs;
use std::io;

use nix::sched::{CloneFlags, unshare};
use rustix::process::{getegid, geteuid};

/// Makes a name space for what is forked from now on; whoever is not the superuser gets a user name
/// space with it, and in there the right to arrange what is seen, which ends where a program is executed.
pub(super) fn unshare_with(flags: CloneFlags) -> io::Result<()> {
    if geteuid().is_root() {
        return Ok(unshare(flags)?);
    }
    let (user, group) = (geteuid(), getegid());
    unshare(flags | CloneFlags::CLONE_NEWUSER)?;
    fs::write("/proc/self/setgroups", "deny")?;
    let itself = |id: u32| format!("{id} {id} 1");
    fs::write("/proc/self/uid_map", itself(user.as_raw()))?;
    fs::write("/proc/self/gid_map", itself(group.as_raw()))?;
    Ok(())
}
