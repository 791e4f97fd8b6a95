//! What leaves a record, and comes back: `export`, `import`.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::Path;

use serde_json::{Value, json};

use super::args::{Export, Import, Rows};
use super::reply::{Failure, Reply, streamed};
use super::results::counted;
use super::seal::{is_sealed_now, look};
use super::study::find_record;
use crate::record::{prml, statement, unshown};
use crate::report::tables::Table;
use crate::store::{self, Fault, Store, Temporary};
use crate::units::Digest;

/// Writes the record as one file, or a table or a statement of it.
pub(super) fn export(args: &Export, as_json: bool) -> Result<Reply, Failure> {
    let record = find_record(args.named.said())?;
    if args.to.is_none() && as_json {
        let message =
            "name the file with --to: the export itself would be mixed with the JSON".to_owned();
        return Err(Failure::Usage {
            code: "no-file",
            message,
        });
    }
    if args.in_toto || args.prml {
        return stated(args, &mut Store::read(&record)?);
    }
    let mut store = look(&record, &args.looks)?;
    let sealed = !args.looks.unblind && is_sealed_now(&mut store)?;
    let Some(path) = &args.to else {
        let mut out = BufWriter::new(io::stdout());
        if let Err(fault) = write(args, &mut store, &mut out, sealed) {
            return match fault {
                Fault::Output(error) => streamed(Err(error)),
                other => Err(other.into()),
            };
        }
        return Ok(Reply {
            aside: unshown::lines(),
            ..streamed(out.flush())?
        });
    };
    let written = write_whole(path, |out| {
        let written = write(args, &mut store, out, sealed);
        written.map_err(|fault| match fault {
            Fault::Output(error) => Failure::file(path, &error),
            other => other.into(),
        })
    })?;
    let seal = if sealed {
        "; sealed outcomes are left out until the study has ended"
    } else {
        ""
    };
    let text = format!("exported    {} to {}{seal}\n", written.what, path.display());
    let mut json = written.json;
    json["file"] = json!(path.display().to_string());
    json["sealed"] = json!(sealed);
    json["not_shown"] = json!(unshown::UNSHOWN);
    Ok(Reply {
        aside: unshown::lines(),
        ..Reply::done(text, json)
    })
}

/// What was written.
struct Written {
    what: String,
    json: Value,
}

/// Writes the entries, or a table.
fn write(
    args: &Export,
    store: &mut Store,
    out: &mut (impl Write + Send),
    sealed: bool,
) -> Result<Written, Fault> {
    let Some(rows) = args.csv else {
        let exported = store.export(out, sealed)?;
        return Ok(Written {
            what: format!("{} entries", exported.head.seq),
            json: json!({ "head": exported.head }),
        });
    };
    let (table, one, many) = match rows {
        Rows::Slots => (Table::Slots, "slot", "slots"),
        Rows::Runs => (Table::Runs, "run", "runs"),
    };
    let count = store.export_table(table, out, sealed)?;
    Ok(Written {
        what: counted(count, one, many),
        json: json!({ "table": many, "rows": count }),
    })
}

/// Writes what is registered in the form of somebody else; nothing in it is sealed.
fn stated(args: &Export, store: &mut Store) -> Result<Reply, Failure> {
    let (what, text, mut json) = if args.prml {
        let (text, treatment) = manifest(store, args.treatment.as_deref())?;
        ("the manifest", text, json!({ "treatment": treatment }))
    } else {
        ("the statement", in_toto(store)?, json!({}))
    };
    let Some(path) = &args.to else {
        return streamed(io::stdout().write_all(text.as_bytes()));
    };
    write_whole(path, |out| {
        let written = out.write_all(text.as_bytes());
        written.map_err(|error| Failure::file(path, &error))
    })?;
    let digest = Digest::of(&[text.as_bytes()]);
    json["file"] = json!(path.display().to_string());
    json["sha256"] = json!(digest);
    let text = format!(
        "exported    {what} to {}\nsha256      {digest}\n",
        path.display()
    );
    Ok(Reply::done(text, json))
}

fn in_toto(store: &mut Store) -> Result<String, Failure> {
    let (head, command) = store.registered()?.ok_or_else(not_registered)?;
    let rules = store.rules()?.ok_or_else(not_registered)?;
    let text = store.protocol_text()?.unwrap_or_default();
    Ok(statement::statement(
        rules.registration(),
        &text,
        command.at,
        head,
    ))
}

/// Returns the manifest, and the treatment that it is about.
fn manifest(store: &mut Store, treatment: Option<&str>) -> Result<(String, String), Failure> {
    let (_, command) = store.registered()?.ok_or_else(not_registered)?;
    let rules = store.rules()?.ok_or_else(not_registered)?;
    let protocol = rules.protocol();
    let Some(analysis) = &protocol.analysis else {
        let message =
            "the protocol registers no analysis, so it claims nothing that a manifest could hold";
        return Err(Failure::Declined {
            code: "no-analysis",
            message: message.to_owned(),
        });
    };
    let treatment = meant(&analysis.treatments, treatment)?;
    let registered = prml::Registered {
        protocol,
        analysis,
        digest: rules.digest(),
        frame: rules.registration().frame,
        at: command.at,
        actor: &command.actor,
    };
    match prml::manifest(&registered, treatment) {
        Ok(text) => Ok((text, treatment.to_owned())),
        Err(message) => Err(Failure::Declined {
            code: "no-canonical-form",
            message,
        }),
    }
}

/// Returns the treatment that is meant: the one that was named, or the only one.
fn meant<'a>(treatments: &'a [String], named: Option<&str>) -> Result<&'a str, Failure> {
    let found = match (named, treatments) {
        (None, [only]) => Some(only),
        (None, _) => None,
        (Some(named), _) => treatments.iter().find(|known| *known == named),
    };
    found.map(String::as_str).ok_or_else(|| Failure::Usage {
        code: "which-treatment",
        message: format!(
            "a manifest is about one treatment; name one with --treatment: {}",
            treatments.join(", ")
        ),
    })
}

fn not_registered() -> Failure {
    Failure::Declined {
        code: "no-registration",
        message: "no protocol is registered on this record; `prereg register` does that".to_owned(),
    }
}

/// Makes a record again from an export.
pub(super) fn import(args: &Import) -> Result<Reply, Failure> {
    let here = Path::new("");
    match store::import(&args.export, args.to.as_deref(), here)? {
        store::Import::Done {
            record,
            head,
            study,
        } => {
            let file = record.display().to_string();
            let entries = counted(head.seq, "entry", "entries");
            let text = format!(
                "imported    {entries} to {file}; chain and every ruling agree\nhead        {} {}\n",
                head.seq, head.digest
            );
            let json = json!({ "file": file, "study": study, "head": head });
            Ok(Reply::done(text, json))
        }
        store::Import::Diverged(divergence) => Err(Failure::Diverged {
            divergence,
            text: None,
        }),
    }
}

/// Writes a file whole or not at all, and never over one that exists.
pub(super) fn write_whole<T>(
    path: &Path,
    write: impl FnOnce(&mut BufWriter<&File>) -> Result<T, Failure>,
) -> Result<T, Failure> {
    if path.exists() {
        return Err(Failure::exists(path));
    }
    let temporary = Temporary::begin(path)?;
    let mut out = BufWriter::with_capacity(1 << 18, temporary.file());
    let written = write(&mut out)?;
    out.flush().map_err(|error| Failure::file(path, &error))?;
    temporary.take_place(path)?;
    Ok(written)
}
