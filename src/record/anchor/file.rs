//! Files that show that a head was published: any text with published lines, signatures and time-stamps
//! each after its line, or a time-stamp alone.

use data_encoding::BASE64;

use super::line::{self, Line, Published};
use super::timestamp::Token;
use super::{Proof, ssh};
use crate::engine::command::Witness;

/// What the first line of a time-stamp in text says.
const BEGIN: &str = "-----BEGIN CMS-----";
/// What its last line says.
const END: &str = "-----END CMS-----";
/// How many characters of base64 stand on a line.
const WIDTH: usize = 64;
/// The namespace of what git signs itself.
const OF_GIT: &str = "git";

/// One thing that a file shows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Shown {
    /// That a line was published, by itself.
    Line(Line),
    /// That a head was published.
    Head(Published, Witness, Proof),
    /// That a digest was stamped; of which line, the file does not say.
    Stamp(Token),
}

/// A block of armor in a text.
enum Block {
    Signature(String),
    Stamp(Token),
}

/// Returns everything that a file shows; refuses one that shows nothing, or something that is wrong.
pub fn read(bytes: &[u8]) -> Result<Vec<Shown>, String> {
    match (std::str::from_utf8(bytes), Token::read(bytes)) {
        (_, Ok(token)) => Ok(vec![Shown::Stamp(token)]),
        (Err(_), Err(fault)) if bytes.first() == Some(&0x30) => Err(fault),
        _ => read_text(&String::from_utf8_lossy(bytes)),
    }
}

fn read_text(text: &str) -> Result<Vec<Shown>, String> {
    let mut shown = Vec::new();
    let mut lines = text.lines();
    let mut is_unplaced = false;
    while let Some(text) = lines.next() {
        let Some(block) = block(text, &mut lines)? else {
            shown.extend(line::lines_in(text)?.into_iter().map(Shown::Line));
            continue;
        };
        let above = shown.iter_mut().rev().find_map(|shown| match shown {
            Shown::Line(Line::Head(published)) | Shown::Head(published, ..) => {
                Some(published.clone())
            }
            _ => None,
        });
        match (above, block) {
            // A signed commit or tag holds git's own signature, which is of something else.
            (_, Block::Signature(armored)) if ssh::namespace(&armored)? == OF_GIT => {}
            (Some(published), Block::Signature(armored)) => {
                let signer = ssh::check(&published, &armored)?;
                let witness = Witness::Ssh { signature: armored };
                bear_out(&mut shown, published, witness, Proof::Ssh(signer));
            }
            (Some(published), Block::Stamp(token)) => {
                token.must_stamp(&published)?;
                let witness = Witness::Rfc3161 {
                    token: token.base64(),
                };
                bear_out(&mut shown, published, witness, Proof::Rfc3161(token));
            }
            (None, Block::Stamp(token)) => shown.push(Shown::Stamp(token)),
            (None, Block::Signature(_)) => is_unplaced = true,
        }
    }
    match (shown.is_empty(), is_unplaced) {
        (false, _) => Ok(shown),
        (true, true) => Err(
            "it does not say which line the signature is of; put the published line before it"
                .to_owned(),
        ),
        (true, false) => Err(
            "it holds no published line, no signature of one and no time-stamp; `prereg head` prints the line"
                .to_owned(),
        ),
    }
}

/// Adds what bears a line out; it takes the place of the line that stood alone.
fn bear_out(shown: &mut Vec<Shown>, published: Published, witness: Witness, proof: Proof) {
    if shown.last() == Some(&Shown::Line(Line::Head(published.clone()))) {
        let _ = shown.pop();
    }
    shown.push(Shown::Head(published, witness, proof));
}

/// Reads a block that begins with a line of text, if one does.
fn block<'a>(
    first: &str,
    lines: &mut impl Iterator<Item = &'a str>,
) -> Result<Option<Block>, String> {
    let end = match first.trim() {
        begins if begins.ends_with(ssh::BEGIN) => ssh::END,
        BEGIN => END,
        _ => return Ok(None),
    };
    let mut body = String::new();
    for line in lines {
        if line.trim() == end {
            return read_block(&body, end).map(Some);
        }
        body.push_str(line.trim());
        body.push('\n');
    }
    Err(format!("a block has no end; `{end}` is missing"))
}

fn read_block(body: &str, end: &str) -> Result<Block, String> {
    if end == ssh::END {
        let (begin, end) = (ssh::BEGIN, ssh::END);
        return Ok(Block::Signature(format!("{begin}\n{body}{end}\n")));
    }
    let text: String = body.split_whitespace().collect();
    let der = BASE64.decode(text.as_bytes());
    let der = der.map_err(|_| "a time-stamp is not base64".to_owned())?;
    Token::read(&der).map(Block::Stamp)
}

/// Writes a file that can be checked alone: the line, and what bears it out.
pub fn write(published: &Published, witness: &Witness) -> String {
    let mut text = published.message();
    match witness {
        Witness::Line {} => {}
        Witness::Ssh { signature } => text.push_str(signature),
        Witness::Rfc3161 { token } => {
            text.push_str(BEGIN);
            for (at, character) in token.chars().enumerate() {
                if at % WIDTH == 0 {
                    text.push('\n');
                }
                text.push(character);
            }
            text.push_str(&format!("\n{END}\n"));
        }
        Witness::Git { receipt } => text.push_str(receipt),
    }
    text
}
