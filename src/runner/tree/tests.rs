//! Directories as a study has them, and workspaces as nobody wants them.

use super::*;
use data_encoding::HEXLOWER;
use std::fs::{self, Permissions};
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::Path;
use tempfile::TempDir;

fn hex(result: Result<[u8; 32], TreeFault>) -> String {
    HEXLOWER.encode(&result.unwrap())
}

fn code<T: std::fmt::Debug>(result: Result<T, TreeFault>) -> &'static str {
    result.unwrap_err().code()
}

fn write(path: &Path, text: &str, mode: u32) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
    fs::set_permissions(path, Permissions::from_mode(mode)).unwrap();
}

fn fifo(path: &Path) {
    assert!(
        std::process::Command::new("mkfifo")
            .arg(path)
            .status()
            .unwrap()
            .success()
    );
}

fn socket(path: &Path) {
    drop(std::os::unix::net::UnixListener::bind(path).unwrap());
}

/// A study's directory with an empty directory, an executable and a name beyond ASCII.
fn study() -> TempDir {
    let dir = TempDir::new().unwrap();
    write(&dir.path().join("a.txt"), "alpha\n", 0o644);
    write(&dir.path().join("b/run.sh"), "#!/bin/sh\n", 0o755);
    write(&dir.path().join("b/ä"), "", 0o600);
    write(&dir.path().join("b-c"), "dash", 0o644);
    fs::create_dir(dir.path().join("empty")).unwrap();
    dir
}

/// Made with: (cd study; find . -type f -printf '%P\n' | while read f; do x=-; [ -x "$f" ] && x=x;
/// printf '%s%s\0%s\n' $x "$f" $(sha256sum <"$f" | cut -d' ' -f1); done) | LC_ALL=C sort | sha256sum
const STUDY_DIGEST: &str = "c705a354e45f7dd8e1e1b2f2270e9e2394d287678314d88ff3e7f33feacbb193";

/// An empty workspace beside a directory that nothing may reach.
struct Yard {
    dir: TempDir,
}

impl Yard {
    fn new() -> Self {
        let yard = Self {
            dir: TempDir::new().unwrap(),
        };
        write(&yard.outside().join("secret"), "secret", 0o644);
        fs::create_dir(yard.workspace()).unwrap();
        yard
    }

    fn workspace(&self) -> PathBuf {
        self.dir.path().join("workspace")
    }

    fn outside(&self) -> PathBuf {
        self.dir.path().join("outside")
    }

    fn file(&self) -> PathBuf {
        let path = self.dir.path().join("file");
        write(&path, "laid", 0o644);
        path
    }

    fn assert_untouched(&self) {
        assert_eq!(
            fs::read_to_string(self.outside().join("secret")).unwrap(),
            "secret"
        );
        assert_eq!(fs::read_dir(self.outside()).unwrap().count(), 1);
    }
}

#[test]
fn the_digest_of_a_directory_is_what_the_shell_computes() {
    assert_eq!(hex(tree_digest(study().path())), STUDY_DIGEST);
}

#[test]
fn the_digest_of_an_empty_directory_and_of_a_file_are_plain_sha256() {
    let dir = TempDir::new().unwrap();
    let empty = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
    assert_eq!(hex(tree_digest(dir.path())), empty);
    write(&dir.path().join("abc"), "abc", 0o644);
    let abc = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
    assert_eq!(hex(file_digest(&dir.path().join("abc"))), abc);
}

#[test]
fn only_the_owners_right_to_execute_counts() {
    let study = study();
    let file = study.path().join("a.txt");
    fs::set_permissions(&file, Permissions::from_mode(0o611)).unwrap();
    assert_eq!(hex(tree_digest(study.path())), STUDY_DIGEST);
    fs::set_permissions(&file, Permissions::from_mode(0o744)).unwrap();
    assert_ne!(hex(tree_digest(study.path())), STUDY_DIGEST);
}

#[test]
fn a_study_holds_nothing_but_files_and_directories() {
    use std::os::unix::ffi::OsStrExt;
    let study = study();
    let odd = study.path().join("b/odd");
    let target = TempDir::new().unwrap();
    let check = |expected: &str| {
        assert_eq!(code(tree_digest(study.path())), expected);
        let fault = tree_digest(study.path()).unwrap_err().to_string();
        assert!(fault.contains(&odd.display().to_string()), "{fault}");
        assert_eq!(code(file_digest(&odd)), expected);
        let target = TempDir::new_in(target.path()).unwrap();
        assert_eq!(code(copy_tree(study.path(), target.path())), expected);
        fs::remove_file(&odd).unwrap();
    };
    symlink("run.sh", &odd).unwrap();
    check("link");
    symlink("/", &odd).unwrap();
    check("link");
    fifo(&odd);
    check("special-file");
    socket(&odd);
    check("special-file");
    let name = study.path().join(std::ffi::OsStr::from_bytes(b"\xff"));
    fs::write(name, "").unwrap();
    assert_eq!(code(tree_digest(study.path())), "name-not-utf-8");
}

#[test]
fn a_root_that_is_no_directory_is_named() {
    let study = study();
    let link = study.path().join("link");
    symlink("b", &link).unwrap();
    assert_eq!(code(tree_digest(&link)), "link");
    assert_eq!(
        code(tree_digest(&study.path().join("a.txt"))),
        "not-a-directory"
    );
    assert_eq!(
        code(tree_digest(&study.path().join("absent"))),
        "file-missing"
    );
    assert_eq!(code(file_digest(&study.path().join("b"))), "not-a-file");
    assert_eq!(
        code(file_digest(&study.path().join("absent"))),
        "file-missing"
    );
}

#[test]
fn depth_is_bounded() {
    let dir = TempDir::new().unwrap();
    let mut path = dir.path().to_path_buf();
    (1..DEPTH_MAX).for_each(|_| path.push("d"));
    write(&path.join("file"), "", 0o644);
    tree_digest(dir.path()).unwrap();
    fs::create_dir(path.join("d")).unwrap();
    assert_eq!(code(tree_digest(dir.path())), "too-deep");
}

#[test]
fn a_copy_has_the_digest_and_the_modes() {
    let (study, target) = (study(), TempDir::new().unwrap());
    assert_eq!(hex(copy_tree(study.path(), target.path())), STUDY_DIGEST);
    assert_eq!(hex(tree_digest(target.path())), STUDY_DIGEST);
    let mode = |name: &str| fs::metadata(target.path().join(name)).unwrap().mode() & 0o7777;
    assert_eq!(
        [mode("b/run.sh"), mode("b/ä"), mode("b")],
        [0o755, 0o644, 0o755]
    );
    assert!(
        !target.path().join("empty").exists(),
        "what no digest tells of is not laid"
    );
    assert_eq!(
        code(copy_tree(study.path(), target.path())),
        "directory-not-empty"
    );
}

#[test]
fn laying_replaces_whatever_stands_there() {
    let yard = Yard::new();
    let (file, place) = (yard.file(), yard.workspace().join("to"));
    let digest = hex(file_digest(&file));
    let obstacles: [&dyn Fn(); 7] = [
        &|| {},
        &|| fs::write(&place, "old").unwrap(),
        &|| symlink(yard.outside().join("secret"), &place).unwrap(),
        &|| symlink(yard.outside(), &place).unwrap(),
        &|| fifo(&place),
        &|| write(&place.join("deep/file"), "x", 0o444),
        &|| fs::hard_link(yard.outside().join("secret"), &place).unwrap(),
    ];
    for set_up in obstacles {
        set_up();
        assert_eq!(hex(lay(&file, &yard.workspace(), "to")), digest);
        assert_eq!(fs::read_to_string(&place).unwrap(), "laid");
        assert!(fs::symlink_metadata(&place).unwrap().is_file());
        yard.assert_untouched();
        set_down(&place);
        set_up();
        assert_eq!(
            hex(lay(study().path(), &yard.workspace(), "to/")),
            STUDY_DIGEST
        );
        assert_eq!(hex(tree_digest(&place)), STUDY_DIGEST);
        yard.assert_untouched();
        set_down(&place);
    }
}

fn set_down(place: &Path) {
    fs::remove_file(place)
        .or_else(|_| fs::remove_dir_all(place))
        .unwrap();
}

#[test]
fn a_parent_that_is_no_directory_is_replaced_by_one() {
    let yard = Yard::new();
    let parent = yard.workspace().join("a");
    let obstacles: [&dyn Fn(); 5] = [
        &|| {},
        &|| symlink(yard.outside(), &parent).unwrap(),
        &|| symlink("a", &parent).unwrap(),
        &|| fifo(&parent),
        &|| fs::write(&parent, "old").unwrap(),
    ];
    for set_up in obstacles {
        set_up();
        lay(&yard.file(), &yard.workspace(), "a/b/c").unwrap();
        assert_eq!(fs::read_to_string(parent.join("b/c")).unwrap(), "laid");
        yard.assert_untouched();
        fs::remove_dir_all(&parent).unwrap();
    }
    // What stands in a real parent stays.
    write(&parent.join("b/kept"), "kept", 0o644);
    lay(&yard.file(), &yard.workspace(), "a/b/c").unwrap();
    assert_eq!(fs::read_to_string(parent.join("b/kept")).unwrap(), "kept");
}

#[test]
fn a_place_outside_the_workspace_cannot_be_written() {
    let yard = Yard::new();
    let file = yard.file();
    for to in [
        "", "/", "/x", "..", "../x", "a/../x", "a//x", "./x", "a/.", "x//", "a\0b",
    ] {
        assert_eq!(
            code(lay(&file, &yard.workspace(), to)),
            "path-not-inside",
            "{to:?}"
        );
        assert_eq!(
            code(lay(study().path(), &yard.workspace(), to)),
            "path-not-inside",
            "{to:?}"
        );
        assert_eq!(
            code(read_regular(&yard.workspace(), to, 9)),
            "path-not-inside",
            "{to:?}"
        );
    }
    assert_eq!(code(lay(&file, &yard.workspace(), "x/")), "not-a-directory");
    assert_eq!(fs::read_dir(yard.workspace()).unwrap().count(), 0);
}

#[test]
fn nothing_is_removed_for_a_source_that_cannot_be_laid() {
    let yard = Yard::new();
    let place = yard.workspace().join("to");
    fs::write(&place, "old").unwrap();
    let link = yard.dir.path().join("link");
    symlink("outside", &link).unwrap();
    assert_eq!(code(lay(&link, &yard.workspace(), "to")), "link");
    assert_eq!(
        code(lay(
            &yard.dir.path().join("absent"),
            &yard.workspace(),
            "to"
        )),
        "file-missing"
    );
    assert_eq!(fs::read_to_string(&place).unwrap(), "old");
}

#[test]
fn a_report_is_read_only_when_it_is_a_plain_file_inside() {
    let yard = Yard::new();
    let report = yard.workspace().join("out/report");
    let read = || read_regular(&yard.workspace(), "out/report", 10);
    assert_eq!(read().unwrap(), None);
    fs::create_dir(yard.workspace().join("out")).unwrap();
    assert_eq!(read().unwrap(), None);
    let cases: [(&dyn Fn(), &str); 5] = [
        (
            &|| symlink(yard.outside().join("secret"), &report).unwrap(),
            "link",
        ),
        (&|| symlink("/no/where", &report).unwrap(), "link"),
        (&|| fifo(&report), "special-file"),
        (&|| socket(&report), "special-file"),
        (&|| fs::create_dir(&report).unwrap(), "not-a-file"),
    ];
    for (set_up, expected) in cases {
        set_up();
        assert_eq!(code(read()), expected);
        set_down(&report);
    }
    fs::hard_link(yard.outside().join("secret"), &report).unwrap();
    assert_eq!(read().unwrap().unwrap(), b"secret");
    fs::remove_dir_all(yard.workspace().join("out")).unwrap();
    symlink(yard.outside(), yard.workspace().join("out")).unwrap();
    assert_eq!(
        code(read_regular(&yard.workspace(), "out/secret", 10)),
        "link"
    );
    fs::remove_file(yard.workspace().join("out")).unwrap();
    fs::write(yard.workspace().join("out"), "").unwrap();
    assert_eq!(code(read()), "not-a-directory");
}

#[test]
fn a_report_is_bounded_whatever_size_it_claims() {
    let yard = Yard::new();
    let report = yard.workspace().join("report");
    let read = |max| read_regular(&yard.workspace(), "report", max);
    fs::write(&report, "0123456789").unwrap();
    assert_eq!(read(10).unwrap().unwrap().len(), 10);
    assert_eq!(code(read(9)), "file-too-large");
    assert_eq!(read(u64::MAX).unwrap().unwrap().len(), 10);
    fs::File::create(&report)
        .unwrap()
        .set_len(10_000_000)
        .unwrap();
    assert_eq!(code(read(1_000_000)), "file-too-large");
    fs::File::create(&report).unwrap().set_len(1 << 40).unwrap();
    assert_eq!(code(read(1_000)), "file-too-large");
}

/// Makes directories in each other: longer than any path, more than anyone has descriptors.
fn make_deep(path: &Path) {
    let mut parent = std::os::fd::OwnedFd::from(fs::File::open(path).unwrap());
    for _ in 0..30_000 {
        rustix::fs::mkdirat(&parent, "d", rustix::fs::Mode::RWXU).unwrap();
        let flags = rustix::fs::OFlags::DIRECTORY;
        parent = rustix::fs::openat(&parent, "d", flags, rustix::fs::Mode::empty()).unwrap();
    }
}

#[test]
fn a_workspace_of_any_depth_and_mode_can_be_removed() {
    let yard = Yard::new();
    let workspace = yard.workspace();
    remove_tree(&workspace.join("absent")).unwrap();
    // Names that the removal itself would use.
    write(&workspace.join(".1/x"), "", 0o000);
    write(&workspace.join(".2"), "", 0o644);
    fs::create_dir(workspace.join(".3")).unwrap();
    write(&workspace.join("locked/inner/file"), "", 0o000);
    symlink(yard.outside(), workspace.join("locked/inner/link")).unwrap();
    fifo(&workspace.join("locked/fifo"));
    fs::set_permissions(
        workspace.join("locked/inner"),
        Permissions::from_mode(0o000),
    )
    .unwrap();
    fs::set_permissions(workspace.join("locked"), Permissions::from_mode(0o555)).unwrap();
    make_deep(&workspace);
    remove_tree(&workspace).unwrap();
    assert!(!workspace.exists());
    yard.assert_untouched();
    symlink(yard.outside(), &workspace).unwrap();
    assert_eq!(code(remove_tree(&workspace)), "link");
    assert_eq!(code(remove_tree(&yard.file())), "not-a-directory");
    yard.assert_untouched();
}

#[test]
fn a_locked_place_is_opened_to_lay_a_file() {
    let yard = Yard::new();
    let parent = yard.workspace().join("a");
    write(&parent.join("to/file"), "", 0o000);
    fs::set_permissions(parent.join("to"), Permissions::from_mode(0o000)).unwrap();
    fs::set_permissions(&parent, Permissions::from_mode(0o000)).unwrap();
    fs::set_permissions(yard.workspace(), Permissions::from_mode(0o500)).unwrap();
    lay(&yard.file(), &yard.workspace(), "a/to").unwrap();
    assert_eq!(fs::read_to_string(parent.join("to")).unwrap(), "laid");
}

#[test]
fn what_is_put_replaces_a_file_a_link_or_a_pipe_and_nothing_else() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path();
    fs::create_dir_all(root.join("real/folder")).unwrap();
    fs::write(root.join("precious"), "kept").unwrap();
    fs::write(root.join("real/file"), "old").unwrap();
    symlink("../precious", root.join("real/link")).unwrap();
    symlink("real", root.join("way")).unwrap();
    fifo(&root.join("real/pipe"));
    for (to, answer) in [
        ("real/none", Ok(())),
        ("real/file", Ok(())),
        ("real/link", Ok(())),
        ("real/pipe", Ok(())),
        ("real/folder", Err("not-a-file")),
        ("way/file", Err("link")),
        ("none/file", Err("file-missing")),
        ("../file", Err("path-not-inside")),
    ] {
        let given = put(root, to, b"new").map_err(|fault| fault.code());
        assert_eq!(given, answer, "{to}");
        if answer.is_ok() {
            assert!(fs::symlink_metadata(root.join(to)).unwrap().is_file());
            assert_eq!(fs::read(root.join(to)).unwrap(), b"new", "{to}");
        }
    }
    assert_eq!(fs::read(root.join("precious")).unwrap(), b"kept");
    assert_eq!(fs::read_dir(root.join("real")).unwrap().count(), 5);
}
