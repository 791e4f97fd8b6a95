//! Reads literals whose spelling the shape accepted, and refuses those that are out of range.

use std::str::FromStr;

use serde_json::Value;

use super::Checker;
use crate::protocol::defect::{Code, Place};
use crate::protocol::draft::{DurationText, ShareText, SizeText, TimeText};
use crate::units::{Bytes, Micros, Share, Time};

impl Checker<'_> {
    /// Reads a duration; above zero and at most thirty days.
    pub(super) fn duration(
        &mut self,
        pointer: &str,
        text: Option<&DurationText>,
    ) -> Option<Micros> {
        let text = text?;
        let duration = text.0.parse::<Micros>().ok();
        if duration.is_none_or(|duration| duration.0 == 0 || duration > Micros::MAX) {
            self.refuse(
                Code::Range,
                Place::Value(pointer.to_owned()),
                format!(
                    "`{}` is out of range: a duration is more than zero and at most thirty days",
                    text.0
                ),
            );
            return None;
        }
        duration
    }

    /// Reads a size; above zero.
    pub(super) fn size(&mut self, pointer: &str, text: Option<&SizeText>) -> Option<Bytes> {
        let text = text?;
        let size = text.0.parse::<Bytes>().ok();
        if size.is_none_or(|size| size.0 == 0) {
            self.refuse(
                Code::Range,
                Place::Value(pointer.to_owned()),
                format!(
                    "`{}` is out of range: a size is more than zero and below 8 PiB",
                    text.0
                ),
            );
            return None;
        }
        size
    }

    /// Reads a share; from 0 to 1.
    pub(super) fn share(&mut self, pointer: &str, text: Option<&ShareText>) -> Option<Share> {
        let text = match &text?.0 {
            Value::String(text) => text,
            number => return self.exact(pointer, number.as_f64()?),
        };
        let share = text.parse().ok();
        if share.is_none() {
            let message = format!("`{text}` is out of range: a share lies between 0 and 1");
            self.refuse(Code::Range, Place::Value(pointer.to_owned()), message);
        }
        share
    }

    /// Reads a number as the exact quantity that its digits say; its range is the shape's.
    pub(super) fn exact<Q: FromStr>(&mut self, pointer: &str, number: f64) -> Option<Q> {
        let exact = exact(number);
        if exact.is_none() {
            let message =
                format!("`{number}` has more digits than are held exactly; write at most 15");
            self.refuse(Code::Range, Place::Value(pointer.to_owned()), message);
        }
        exact
    }

    /// Reads a time; one that a calendar has.
    pub(super) fn time(&mut self, pointer: &str, text: &TimeText) -> Option<Time> {
        match text.0.parse::<Time>() {
            Ok(time) if time >= Time(0) => Some(time),
            _ => {
                let message = format!("`{}` is not a time that a calendar since 1970 has", text.0);
                self.refuse(Code::Range, Place::Value(pointer.to_owned()), message);
                None
            }
        }
    }
}

/// Returns the exact quantity that a number's digits say.
pub(super) fn exact<Q: FromStr>(number: f64) -> Option<Q> {
    // Written without an exponent, and with no more digits than tell it from other numbers.
    number.to_string().parse().ok()
}
