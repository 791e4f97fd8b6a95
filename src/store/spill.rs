//! A shelf on the disk: a file without a name, which goes with the process.

use std::borrow::Cow;
use std::env;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

use super::Fault;
use crate::record::shelf::Shelf;

/// How much is kept in memory before it is written, and how much is read at once.
const BLOCK: usize = 1 << 18;
/// How many bytes say how long a row is.
const LENGTH: usize = 4;

/// Rows that were put away. Nothing is written while they are few.
#[derive(Debug, Default)]
pub(super) struct Spill {
    file: Option<File>,
    /// How much is in the file.
    written: u64,
    /// What comes after it.
    tail: Vec<u8>,
    /// What was read last, and where it stands.
    read: Vec<u8>,
    read_at: u64,
}

impl Shelf for Spill {
    type Fault = Fault;

    fn put(&mut self, write: impl FnOnce(&mut Vec<u8>)) -> Result<u64, Fault> {
        let start = self.tail.len();
        self.tail.extend_from_slice(&[0; LENGTH]);
        write(&mut self.tail);
        let row = start + LENGTH;
        let Ok(length) = u32::try_from(self.tail.len() - row) else {
            return Err(Self::broken("a row is longer than 4 GiB".to_owned()));
        };
        self.tail[start..row].copy_from_slice(&length.to_be_bytes());
        let place = self.written + start as u64;
        if self.tail.len() >= BLOCK {
            self.write().map_err(fault)?;
        }
        Ok(place)
    }

    fn get(&mut self, place: u64) -> Result<Cow<'_, [u8]>, Fault> {
        let length = self.bytes(place, LENGTH).map_err(fault)?;
        let length = length.try_into().map(u32::from_be_bytes);
        let length = usize::try_from(length.unwrap_or_default()).unwrap_or_default();
        let bytes = self.bytes(place + LENGTH as u64, length);
        bytes.map(Cow::Borrowed).map_err(fault)
    }

    fn broken(message: String) -> Fault {
        fault(io::Error::other(message))
    }
}

impl Spill {
    fn write(&mut self) -> io::Result<()> {
        let file = match &self.file {
            Some(file) => file,
            None => self.file.insert(tempfile::tempfile()?),
        };
        file.write_all_at(&self.tail, self.written)?;
        self.written += self.tail.len() as u64;
        self.tail.clear();
        Ok(())
    }

    /// Returns some bytes from a place; rows are mostly asked for in the order in which they were put.
    fn bytes(&mut self, place: u64, length: usize) -> io::Result<&[u8]> {
        let missing = || io::Error::from(io::ErrorKind::UnexpectedEof);
        if let Some(place) = place.checked_sub(self.written) {
            let tail = usize::try_from(place)
                .ok()
                .and_then(|at| self.tail.get(at..));
            return tail.and_then(|tail| tail.get(..length)).ok_or_else(missing);
        }
        let end = place + length as u64;
        if place < self.read_at || end > self.read_at + self.read.len() as u64 {
            let there = usize::try_from(self.written - place).unwrap_or(usize::MAX);
            self.read.resize(there.min(BLOCK.max(length)), 0);
            self.read_at = place;
            let file = self.file.as_ref().ok_or_else(missing)?;
            file.read_exact_at(&mut self.read, place)?;
        }
        let at = usize::try_from(place - self.read_at).map_err(|_| missing())?;
        self.read.get(at..at + length).ok_or_else(missing)
    }
}

fn fault(source: io::Error) -> Fault {
    Fault::file(&env::temp_dir(), source)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_row_is_read_back_from_its_place() {
        let mut spill = Spill::default();
        let row = |number: usize| vec![b'a' + (number % 26) as u8; number * 37 % 4_000];
        let rows = 2_000;
        let places: Vec<u64> = (0..rows)
            .map(|n| spill.put(|bytes| bytes.extend(row(n))).unwrap())
            .collect();
        assert!(spill.written > BLOCK as u64 && !spill.tail.is_empty());
        for number in (0..rows).chain((0..rows).rev()).chain([7, 1_999, 0, 1_024]) {
            assert_eq!(spill.get(places[number]).unwrap(), row(number));
        }
        assert!(spill.get(spill.written + spill.tail.len() as u64).is_err());
        let long = vec![b'z'; 3 * BLOCK];
        let place = spill.put(|bytes| bytes.extend(&long)).unwrap();
        assert_eq!(spill.get(place).unwrap(), long);
    }
}
