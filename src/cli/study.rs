//! The files that a command is about: the protocol, its folder, its record.

use std::path::{Path, PathBuf};

use super::reply::{Defects, Failure};
use crate::engine::command::Action;
use crate::engine::modelcheck::Model;
use crate::engine::refusal::Refusal;
use crate::engine::sound;
use crate::folder::DiskFolder;
use crate::protocol::check::{self, Checked};
use crate::protocol::defect::{Defect, Place};
use crate::protocol::folder::Folder;
use crate::protocol::source::{Source, TEXT_MAX, line_of};
use crate::store::{Fault, Request, Response, Store};
use crate::units::Digest;

/// A protocol file that passed its checks.
#[derive(Debug)]
pub(super) struct ProtocolFile {
    /// The file as the user named it.
    pub file: PathBuf,
    /// The folder that it stands in, absolute.
    pub base: PathBuf,
    /// Its exact text.
    pub text: String,
    /// What the checker made of it.
    pub checked: Checked,
}

impl ProtocolFile {
    /// Reads and checks a protocol file.
    pub(super) fn read(file: &Path) -> Result<Self, Failure> {
        let base = folder_of(file);
        let folder = DiskFolder::at(&base);
        let defects = |text, found| defects(file, &base, text, found);
        // One byte more than is allowed, so that the checker can say that it is too large.
        let bytes = folder.read(&name_of(file), TEXT_MAX + 1).map_err(|fault| {
            let defect = Defect::new(fault.code, Place::File, fault.message);
            defects(String::new(), vec![defect])
        })?;
        let text = String::from_utf8_lossy(&bytes).into_owned();
        match check::check(&bytes, &folder) {
            Ok(checked) => Ok(Self {
                file: file.to_owned(),
                base,
                text,
                checked,
            }),
            Err(found) => Err(defects(text, found)),
        }
    }

    /// Plays the protocol, and refuses one that is not sound.
    ///
    /// What stands on a record was played before it was put there; playing it again would cost time.
    pub(super) fn play(&self) -> Result<Model, Failure> {
        let failure = |found| defects(&self.file, &self.base, self.text.clone(), found);
        sound::play(&self.text, &self.checked).map_err(failure)
    }

    /// Plays the protocol, unless it is the one that stands on a record.
    pub(super) fn play_if_new(&self, opened: Option<Digest>) -> Result<(), Failure> {
        if opened == Some(self.checked.registration.digest()) {
            return Ok(());
        }
        self.play().map(drop)
    }

    /// Returns the study's id.
    pub(super) fn id(&self) -> &str {
        &self.checked.registration.protocol.study.id
    }

    /// Returns where the record stands: as it was said, or beside the protocol.
    pub(super) fn record(&self, said: Option<&Path>) -> PathBuf {
        match said {
            Some(path) => path.to_owned(),
            None => self.file.with_file_name(format!("{}.prereg.db", self.id())),
        }
    }

    /// Refuses a protocol that this version cannot enforce.
    pub(super) fn enforced(&self) -> Result<(), Failure> {
        let keys = self.unenforced();
        if keys.is_empty() {
            return Ok(());
        }
        Err(Failure::Refused {
            refusal: Refusal::NotEnforced { keys },
            text: Some(self.text.clone()),
        })
    }

    /// Names the keys that this version cannot enforce, each with its line.
    pub(super) fn unenforced(&self) -> Vec<String> {
        let source = Source::read(&self.text);
        let named = self.checked.unenforced.iter().filter_map(|place| {
            let Place::Key(pointer) = place else {
                return None;
            };
            let name = pointer.trim_start_matches('/').replace('/', ".");
            let line = source
                .as_ref()
                .ok()
                .map(|source| line_of(&self.text, source.span(place).start));
            Some(line.map_or(name.clone(), |line| format!("`{name}` (line {line})")))
        });
        named.collect()
    }

    /// Returns the command that puts the protocol on the record.
    pub(super) fn open(&self) -> Action {
        Action::Open {
            text: self.text.clone(),
            registration: Box::new(self.checked.registration.clone()),
            tasks: self
                .checked
                .tasks
                .iter()
                .map(|task| task.fields.clone())
                .collect(),
        }
    }
}

/// How a record stood before anything was written.
#[derive(Default)]
pub(super) struct Before {
    /// The draft that was opened last.
    pub opened: Option<Digest>,
    /// Whether a protocol is registered.
    pub registered: bool,
    /// Whether the study has ended.
    pub over: bool,
    /// The text of the protocol that was opened last.
    pub text: Option<String>,
}

impl Before {
    /// Looks at a record, which need not be there.
    pub(super) fn of(record: &Path) -> Result<Self, Failure> {
        let mut store = match Store::read(record) {
            Ok(store) => store,
            Err(Fault::NotFound(_)) => return Ok(Self::default()),
            Err(fault) => return Err(fault.into()),
        };
        let standing = store.standing()?;
        Ok(Self {
            opened: standing.opened,
            registered: standing.registered.is_some(),
            over: standing.has_ended(),
            text: store.protocol_text()?,
        })
    }
}

/// Makes the failure of a protocol that has defects.
fn defects(file: &Path, folder: &Path, text: String, defects: Vec<Defect>) -> Failure {
    Failure::Defects(Defects {
        file: file.display().to_string(),
        text,
        folder: folder.to_owned(),
        defects,
        undone: "registered",
    })
}

/// Returns the name of a file, without its folder.
pub(super) fn name_of(file: &Path) -> String {
    file.file_name()
        .map_or_else(String::new, |name| name.to_string_lossy().into_owned())
}

/// Returns the absolute folder of a file.
pub(super) fn folder_of(file: &Path) -> PathBuf {
    let folder = match file.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    };
    // A folder that is not there is reported when the file is read.
    std::fs::canonicalize(folder).unwrap_or_else(|_| folder.to_owned())
}

/// Finds the record that is meant: as it was said, or the only one of this folder.
pub(super) fn find_record(said: Option<&Path>) -> Result<PathBuf, Failure> {
    if let Some(path) = said {
        return Ok(path.to_owned());
    }
    let here = Path::new(".");
    let entries = std::fs::read_dir(here).map_err(|error| Failure::file(here, &error))?;
    let names = entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
    let mut records: Vec<String> = names.filter(|name| name.ends_with(".prereg.db")).collect();
    records.sort_unstable();
    match records.as_slice() {
        [only] => Ok(PathBuf::from(only)),
        [] => Err(Failure::Usage {
            code: "no-record",
            message: "there is no *.prereg.db in this folder; name the record".to_owned(),
        }),
        several => Err(Failure::Usage {
            code: "several-records",
            message: format!(
                "this folder has several records; name one of {}",
                several.join(", ")
            ),
        }),
    }
}

/// Answers one request; a refusal becomes a failure that shows the registered line.
pub(super) fn apply(store: &mut Store, request: Request) -> Result<Response, Failure> {
    let response = store.write(|writer| writer.apply(request))?;
    granted(store, response)
}

/// Returns what was granted; a refusal becomes a failure that shows the registered line.
pub(super) fn granted(store: &Store, response: Response) -> Result<Response, Failure> {
    match response.ruling {
        Err(refusal) => Err(Failure::Refused {
            refusal,
            text: store.protocol_text()?,
        }),
        Ok(_) => Ok(response),
    }
}
