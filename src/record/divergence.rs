//! What an audit can find: the first entry that does not follow, and how.

use std::fmt;

use serde::Serialize;

/// The first place at which a record is not what it says it is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Divergence {
    /// The stable code.
    pub code: Code,
    /// The entry, from 1; 0 for the record as a whole.
    pub entry: u64,
    /// One plain sentence.
    pub message: String,
    /// The registered rule that the record breaks, as a JSON pointer into the protocol.
    pub rule: Option<std::borrow::Cow<'static, str>>,
}

/// How a record diverges.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Code {
    /// The file is not a record.
    NotARecord,
    /// A line is not an entry.
    LineSyntax,
    /// Entries are missing, doubled or out of order.
    Sequence,
    /// An entry's digest does not follow from its body and the entry before.
    Digest,
    /// A body is not in canonical form.
    BodyForm,
    /// A value does not open its commitment.
    Commitment,
    /// A record begins with something else than a protocol.
    FirstEntry,
    /// Time goes back.
    TimeDecreases,
    /// What an entry says of its clock does not fit its time.
    ClockDiffers,
    /// A run whose deadline was noticed was not closed.
    ExpiryMissing,
    /// The registered rules answer the command otherwise.
    RulingDiffers,
    /// A look at the outcomes comes to something else.
    LookDiffers,
    /// The number or the digest of the last entry is not the header's.
    HeadDiffers,
    /// No entry has the digest that the record is held to.
    HeadUnknown,
    /// The record ends before what was published.
    BehindAnchor,
    /// An entry is not the one that was published.
    AnchorDiffers,
    /// An entry says that something was published which its witness does not bear out.
    AnchorInvalid,
    /// A derived table is not what the entries say.
    TablesDiffer,
    /// An ending says that its run was not executed as registered.
    ReceiptDiffers,
    /// Nothing shows that a run was executed as registered.
    ReceiptMissing,
    /// A file that a run has left is not what the record says.
    ArtefactDiffers,
}

impl Code {
    /// Returns the code as it is printed.
    pub fn text(self) -> &'static str {
        match self {
            Self::NotARecord => "not-a-record",
            Self::LineSyntax => "line-syntax",
            Self::Sequence => "sequence",
            Self::Digest => "digest",
            Self::BodyForm => "body-form",
            Self::Commitment => "commitment",
            Self::FirstEntry => "first-entry",
            Self::TimeDecreases => "time-decreases",
            Self::ClockDiffers => "clock-differs",
            Self::ExpiryMissing => "expiry-missing",
            Self::RulingDiffers => "ruling-differs",
            Self::LookDiffers => "look-differs",
            Self::HeadDiffers => "head-differs",
            Self::HeadUnknown => "head-unknown",
            Self::BehindAnchor => "behind-anchor",
            Self::AnchorDiffers => "anchor-differs",
            Self::AnchorInvalid => "anchor-invalid",
            Self::TablesDiffer => "tables-differ",
            Self::ReceiptDiffers => "receipt-differs",
            Self::ReceiptMissing => "receipt-missing",
            Self::ArtefactDiffers => "artefact-differs",
        }
    }
}

impl Divergence {
    /// Makes a divergence that no registered rule explains.
    pub fn new(code: Code, entry: u64, message: impl Into<String>) -> Self {
        Self {
            code,
            entry,
            message: message.into(),
            rule: None,
        }
    }
}

impl fmt::Display for Divergence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.entry {
            0 => f.write_str(&self.message),
            entry => write!(f, "entry {entry}: {}", self.message),
        }
    }
}
