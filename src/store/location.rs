//! Where a record may stand: on a disk of this machine, under one name.

use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use super::{Fault, Result, folder_of};

/// File systems that other machines share, or that answer for one, by what `statfs` calls them.
/// SQLite's locks and shared memory cannot be relied on there.
const NETWORK: &[(u32, &str)] = &[
    (0x6969, "NFS"),
    (0x517B, "SMB"),
    (0xFE53_4D42, "SMB"),
    (0xFF53_4D42, "CIFS"),
    (0x564C, "NCP"),
    (0x0102_1997, "9p"),
    (0x6573_5546, "FUSE"),
    (0x00C3_6400, "Ceph"),
    (0x0BD0_0BD0, "Lustre"),
    (0x5346_414F, "AFS"),
    (0x6B41_4653, "AFS"),
    (0x7375_7245, "Coda"),
    (0x0116_1970, "GFS2"),
    (0x7461_636F, "OCFS2"),
    (0x4750_4653, "GPFS"),
    (0x1983_0326, "BeeGFS"),
    (0x2003_0528, "OrangeFS"),
    (0xAAD7_AAEA, "PanFS"),
    (0x786F_4256, "VirtualBox's shared folders"),
    (0xBACB_ACBC, "VMware's shared folders"),
];

/// Returns the name of a network file system, by what `statfs` calls it.
fn network(magic: u32) -> Option<&'static str> {
    let found = NETWORK.iter().find(|(known, _)| *known == magic);
    found.map(|(_, name)| *name)
}

/// Refuses to write a record on a network file system.
pub(super) fn must_be_local(record: &Path) -> Result<()> {
    // A link leads elsewhere; what is not there yet will be in its folder.
    let place = if record.exists() {
        record
    } else {
        folder_of(record)
    };
    // Where this cannot be asked, opening says why.
    let kind = magic_of(place).and_then(network);
    match kind {
        Some(kind) => Err(Fault::NetworkFileSystem {
            path: record.to_owned(),
            kind,
        }),
        None => Ok(()),
    }
}

#[cfg(target_os = "linux")]
fn magic_of(place: &Path) -> Option<u32> {
    let found = rustix::fs::statfs(place).ok()?;
    u32::try_from(found.f_type & 0xFFFF_FFFF).ok()
}

#[cfg(not(target_os = "linux"))]
fn magic_of(_place: &Path) -> Option<u32> {
    None
}

/// Refuses to write to a file that has several names: what belongs beside a record (its lock, its log, what was
/// published of it, the folders of its runs) is looked for under one, and whoever writes under another finds none of it.
pub(super) fn must_have_one_name(record: &Path) -> Result<()> {
    let Ok(found) = std::fs::symlink_metadata(record) else {
        // What is not there has no name yet; opening says why it cannot be looked at.
        return Ok(());
    };
    if found.is_symlink() {
        return Err(Fault::SymbolicLink {
            path: record.to_owned(),
            file: followed(record),
        });
    }
    match found.nlink() {
        0 | 1 => Ok(()),
        names => Err(Fault::SeveralNames {
            path: record.to_owned(),
            names,
        }),
    }
}

/// Returns the file that a path leads to; the path itself where it is no link.
pub(super) fn followed(path: &Path) -> PathBuf {
    let is_link = std::fs::symlink_metadata(path).is_ok_and(|found| found.is_symlink());
    let file = is_link.then(|| std::fs::canonicalize(path).ok()).flatten();
    file.unwrap_or_else(|| path.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn network_file_systems_are_known_by_their_magic() {
        for (magic, name) in [
            (0x6969, "NFS"),
            (0xFF53_4D42, "CIFS"),
            (0x0102_1997, "9p"),
            (0x6573_5546, "FUSE"),
            (0x00C3_6400, "Ceph"),
            (0x0BD0_0BD0, "Lustre"),
        ] {
            assert_eq!(network(magic), Some(name));
        }
        // ext4, xfs, btrfs, tmpfs, overlay, zfs, f2fs.
        for magic in [
            0xEF53,
            0x5846_5342,
            0x9123_683E,
            0x0102_1994,
            0x794C_7630,
            0x2FC1_2FC1,
            0xF2F5_2010,
        ] {
            assert_eq!(network(magic), None, "{magic:x}");
        }
    }

    #[test]
    fn a_local_folder_is_let_through() {
        must_be_local(Path::new("a record that is not there")).unwrap();
    }
}
