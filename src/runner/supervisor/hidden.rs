//! The view of the files that an arm has in a name space of its own.

use std::fs;
use std::io;
use std::path::Path;

use rustix::fs::CWD;
use rustix::mount::{
    MountFlags, MountPropagationFlags, MoveMountFlags, OpenTreeFlags, mount, mount_bind,
    mount_change, move_mount, open_tree,
};

use super::order::Order;

/// Hides what an order says, and shows the processes of this name space only.
///
/// The working directory is carried over; beside it the folder of the runs is empty.
pub(super) fn hide(order: &Order) -> io::Result<()> {
    let slave = MountPropagationFlags::PRIVATE | MountPropagationFlags::REC;
    mount_change("/", slave)?;
    let dir = order.dir.as_path();
    let flags = OpenTreeFlags::OPEN_TREE_CLONE | OpenTreeFlags::OPEN_TREE_CLOEXEC;
    let own = open_tree(CWD, dir, flags)?;
    cover(order.hidden.runs.as_path())?;
    fs::create_dir_all(dir)?;
    move_mount(own, "", CWD, dir, MoveMountFlags::MOVE_MOUNT_F_EMPTY_PATH)?;
    for other in &order.hidden.others {
        hide_one(other.as_path())?;
    }
    let flags = MountFlags::NOSUID | MountFlags::NODEV | MountFlags::NOEXEC;
    mount("proc", "/proc", "proc", flags, None)?;
    Ok(())
}

fn hide_one(path: &Path) -> io::Result<()> {
    match fs::symlink_metadata(path) {
        Ok(found) if found.is_dir() => cover(path),
        Ok(found) if found.is_file() => Ok(mount_bind("/dev/null", path)?),
        Ok(_) => Ok(()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(error) => Err(error),
    }
}

/// Lays an empty folder over one.
fn cover(folder: &Path) -> io::Result<()> {
    let flags = MountFlags::NOSUID | MountFlags::NODEV | MountFlags::NOEXEC;
    mount("none", folder, "tmpfs", flags, Some(c"mode=755,size=64k"))?;
    Ok(())
}
