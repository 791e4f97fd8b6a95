//! Name spaces for whoever is not the superuser: in a user name space that maps a user to itself.

use std::fs;
use std::io;

use nix::sched::{CloneFlags, unshare};
use rustix::process::{getegid, geteuid};
use rustix::thread::{
    CapabilitySet, capabilities, clear_ambient_capability_set, configure_capability_in_ambient_set,
    set_capabilities,
};

/// Makes a name space for what is started from now on; whoever is not the superuser gets a user name
/// space with it, and passes on the right to arrange what is seen there.
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
    let mut rights = capabilities(None)?;
    rights.inheritable |= CapabilitySet::SYS_ADMIN;
    set_capabilities(None, rights)?;
    configure_capability_in_ambient_set(CapabilitySet::SYS_ADMIN, true)?;
    Ok(())
}

/// Keeps what is started from now on from having what [`unshare_with`] passed on.
pub(super) fn drop_rights() -> io::Result<()> {
    if !geteuid().is_root() {
        clear_ambient_capability_set()?;
    }
    Ok(())
}
