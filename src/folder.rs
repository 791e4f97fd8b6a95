//! The only room that reads the study's files: the real folder that a protocol stands in.

use std::fs;
use std::path::{Path, PathBuf};

use crate::protocol::defect::Code;
use crate::protocol::folder::{Folder, FolderFault};
use crate::runner::tree::{TreeFault, file_digest, read_regular, tree_digest};
use crate::units::Digest;

/// A folder on the disk. Links and special files in it are refused, and never opened.
#[derive(Clone, Debug)]
pub struct DiskFolder {
    root: PathBuf,
}

impl DiskFolder {
    /// Takes a folder; it may itself be reached through links.
    pub fn at(root: &Path) -> Self {
        // The last name is `.`, so that a link before it is followed.
        Self {
            root: root.join("."),
        }
    }

    /// Finds what stands at a path, and refuses to reach it through a link.
    fn locate(&self, path: &str) -> Result<(PathBuf, fs::Metadata), FolderFault> {
        let mut place = self.root.clone();
        let mut found = None;
        for name in path.trim_end_matches('/').split('/') {
            place.push(name);
            let metadata = fs::symlink_metadata(&place).map_err(|error| system_fault(&error))?;
            if metadata.is_symlink() {
                return Err(fault(Code::NotFile, LINK));
            }
            found = Some(metadata);
        }
        found
            .map(|metadata| (place, metadata))
            .ok_or_else(|| fault(Code::NotFound, ABSENT))
    }
}

impl Folder for DiskFolder {
    fn read(&self, path: &str, max: usize) -> Result<Vec<u8>, FolderFault> {
        match read_regular(&self.root, path, max as u64) {
            Ok(Some(bytes)) => Ok(bytes),
            Ok(None) => Err(fault(Code::NotFound, ABSENT)),
            Err(tree) => Err(from_tree(&tree)),
        }
    }

    fn digest(&self, path: &str) -> Result<Digest, FolderFault> {
        let (place, metadata) = self.locate(path)?;
        let digest = if metadata.is_dir() {
            tree_digest(&place)
        } else {
            file_digest(&place)
        };
        digest.map(Digest).map_err(|tree| from_tree(&tree))
    }

    fn executable(&self, path: &str) -> Result<bool, FolderFault> {
        use std::os::unix::fs::PermissionsExt;

        let (_, metadata) = self.locate(path)?;
        if !metadata.is_file() {
            return Err(fault(Code::NotFile, NO_FILE));
        }
        Ok(metadata.permissions().mode() & 0o100 != 0)
    }
}

const ABSENT: &str = "there is no such file or folder";
const NO_FILE: &str = "this is not a regular file";
const LINK: &str = "a link cannot be part of a study; put the file itself there";

fn fault(code: Code, message: impl Into<String>) -> FolderFault {
    FolderFault {
        code,
        message: message.into(),
    }
}

fn system_fault(error: &std::io::Error) -> FolderFault {
    match error.kind() {
        std::io::ErrorKind::NotFound | std::io::ErrorKind::NotADirectory => {
            fault(Code::NotFound, ABSENT)
        }
        std::io::ErrorKind::PermissionDenied => {
            fault(Code::Unreadable, "it may not be read by this user")
        }
        _ => fault(Code::Unreadable, format!("it cannot be read: {error}")),
    }
}

/// Says what a fault of the tree means for the checker, without the path: the checker names it.
fn from_tree(tree: &TreeFault) -> FolderFault {
    match tree {
        TreeFault::Missing { .. } | TreeFault::NotDirectory { .. } => fault(Code::NotFound, ABSENT),
        TreeFault::NotFile { .. } => fault(Code::NotFile, NO_FILE),
        TreeFault::Link { .. } => fault(Code::NotFile, LINK),
        TreeFault::Special { .. } => fault(
            Code::NotFile,
            "a pipe, socket or device cannot be part of a study",
        ),
        TreeFault::Denied { .. } => fault(Code::Unreadable, "it may not be read by this user"),
        TreeFault::TooMany { .. } | TreeFault::TooDeep { .. } | TreeFault::TooLarge { .. } => {
            fault(Code::TooLarge, tree.to_string())
        }
        TreeFault::NotInside { .. } => {
            fault(Code::Path, "this is not a plain path inside the folder")
        }
        TreeFault::NotEmpty { .. } | TreeFault::NotUtf8 { .. } | TreeFault::Io { .. } => {
            fault(Code::Unreadable, tree.to_string())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_plain_file_is_refused_without_waiting() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path();
        fs::write(root.join("file"), "text").unwrap();
        fs::create_dir(root.join("folder")).unwrap();
        fs::write(root.join("folder/file"), "text").unwrap();
        std::os::unix::fs::symlink("file", root.join("link")).unwrap();
        std::os::unix::fs::symlink("folder", root.join("way")).unwrap();
        let pipe = std::process::Command::new("mkfifo")
            .arg(root.join("pipe"))
            .status();
        assert!(pipe.unwrap().success());
        let study = DiskFolder::at(root);
        let code = |fault: FolderFault| fault.code.text();
        let read = |path| study.read(path, 4).map(|bytes| bytes.len()).map_err(code);
        let digest = |path| study.digest(path).map(|_| ()).map_err(code);
        let rows = [
            ("file", Ok(4), Ok(())),
            ("folder", Err("not-file"), Ok(())),
            ("folder/file", Ok(4), Ok(())),
            ("file/file", Err("not-found"), Err("not-found")),
            ("none", Err("not-found"), Err("not-found")),
            ("link", Err("not-file"), Err("not-file")),
            ("way/file", Err("not-file"), Err("not-file")),
            ("pipe", Err("not-file"), Err("not-file")),
        ];
        for (path, bytes, bound) in rows {
            assert_eq!((read(path), digest(path)), (bytes, bound), "{path}");
        }
        assert_eq!(study.read("file", 3).map_err(code), Err("too-large"));
    }

    #[test]
    fn the_folder_itself_may_be_a_link() {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join("real")).unwrap();
        fs::write(folder.path().join("real/file"), "text").unwrap();
        std::os::unix::fs::symlink("real", folder.path().join("link")).unwrap();
        let study = DiskFolder::at(&folder.path().join("link"));
        assert!(study.read("file", 4).is_ok() && study.digest("file").is_ok());
    }
}
