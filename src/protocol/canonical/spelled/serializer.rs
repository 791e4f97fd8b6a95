//! Walks along a text as data is serialized: what stands where its parts do.

use std::ops::Range;

use serde::ser::{self, Serialize, Serializer};

use super::{Differs, Member, Met, Walk};

/// The fields of a struct.
pub(super) struct Fields<'w, 't> {
    walk: &'w mut Walk<'t>,
    /// How many members were passed over before.
    first: usize,
    /// The key that was met last.
    key: Option<Range<usize>>,
    /// How many objects end here.
    ends: usize,
}

impl<'w, 't> Fields<'w, 't> {
    fn of(walk: &'w mut Walk<'t>, ends: usize) -> Result<Self, Differs> {
        walk.meet(b'{')?;
        Ok(Self {
            first: walk.passed.len(),
            key: None,
            ends,
            walk,
        })
    }

    fn field(&mut self, name: &str, value: &(impl Serialize + ?Sized)) -> Met {
        let text = self.walk.text;
        let is_named = |key: &Range<usize>| &text[key.clone()] == name.as_bytes();
        let mut passed = self.walk.passed[self.first..].iter();
        if let Some(place) = passed.position(|member| is_named(&member.key)) {
            let member = self.walk.passed.swap_remove(self.first + place).value;
            let here = std::mem::replace(&mut self.walk.at, member.start);
            value.serialize(&mut *self.walk)?;
            let end = std::mem::replace(&mut self.walk.at, here);
            return if end == member.end {
                Ok(())
            } else {
                Err(Differs)
            };
        }
        loop {
            let key = self.walk.key(self.key.as_ref())?;
            self.key = Some(key.clone());
            if is_named(&key) {
                return value.serialize(&mut *self.walk);
            }
            let start = self.walk.at;
            self.walk.pass()?;
            let value = start..self.walk.at;
            self.walk.passed.push(Member { key, value });
        }
    }

    fn end(self) -> Met {
        if self.walk.passed.len() > self.first {
            return Err(Differs);
        }
        (0..self.ends).try_for_each(|_| self.walk.meet(b'}'))
    }
}

impl ser::SerializeStruct for Fields<'_, '_> {
    type Ok = ();
    type Error = Differs;

    fn serialize_field<T: Serialize + ?Sized>(&mut self, name: &'static str, value: &T) -> Met {
        self.field(name, value)
    }

    fn end(self) -> Met {
        self.end()
    }
}

impl ser::SerializeStructVariant for Fields<'_, '_> {
    type Ok = ();
    type Error = Differs;

    fn serialize_field<T: Serialize + ?Sized>(&mut self, name: &'static str, value: &T) -> Met {
        self.field(name, value)
    }

    fn end(self) -> Met {
        self.end()
    }
}

/// The entries of a map, which come in the order of their keys.
pub(super) struct Entries<'w, 't> {
    walk: &'w mut Walk<'t>,
    /// The key that was met last.
    key: Option<Range<usize>>,
}

impl ser::SerializeMap for Entries<'_, '_> {
    type Ok = ();
    type Error = Differs;

    fn serialize_key<T: Serialize + ?Sized>(&mut self, key: &T) -> Met {
        let start = self.walk.at + usize::from(self.key.is_some());
        let found = self.walk.key(self.key.as_ref())?;
        let after = std::mem::replace(&mut self.walk.at, start);
        key.serialize(&mut *self.walk)?;
        let end = std::mem::replace(&mut self.walk.at, after);
        self.key = Some(found);
        // But for the colon.
        if end + 1 == after {
            Ok(())
        } else {
            Err(Differs)
        }
    }

    fn serialize_value<T: Serialize + ?Sized>(&mut self, value: &T) -> Met {
        value.serialize(&mut *self.walk)
    }

    fn end(self) -> Met {
        self.walk.meet(b'}')
    }
}

/// The items of a list.
pub(super) struct Items<'w, 't> {
    walk: &'w mut Walk<'t>,
    is_first: bool,
    /// What ends it.
    end: &'static [u8],
}

impl<'w, 't> Items<'w, 't> {
    fn of(walk: &'w mut Walk<'t>, end: &'static [u8]) -> Result<Self, Differs> {
        walk.meet(b'[')?;
        Ok(Self {
            walk,
            is_first: true,
            end,
        })
    }

    fn item(&mut self, value: &(impl Serialize + ?Sized)) -> Met {
        if !std::mem::take(&mut self.is_first) {
            self.walk.meet(b',')?;
        }
        value.serialize(&mut *self.walk)
    }

    fn end(self) -> Met {
        self.walk.meet_all(self.end)
    }
}

impl ser::SerializeSeq for Items<'_, '_> {
    type Ok = ();
    type Error = Differs;

    fn serialize_element<T: Serialize + ?Sized>(&mut self, value: &T) -> Met {
        self.item(value)
    }

    fn end(self) -> Met {
        self.end()
    }
}

impl ser::SerializeTuple for Items<'_, '_> {
    type Ok = ();
    type Error = Differs;

    fn serialize_element<T: Serialize + ?Sized>(&mut self, value: &T) -> Met {
        self.item(value)
    }

    fn end(self) -> Met {
        self.end()
    }
}

impl ser::SerializeTupleStruct for Items<'_, '_> {
    type Ok = ();
    type Error = Differs;

    fn serialize_field<T: Serialize + ?Sized>(&mut self, value: &T) -> Met {
        self.item(value)
    }

    fn end(self) -> Met {
        self.end()
    }
}

impl ser::SerializeTupleVariant for Items<'_, '_> {
    type Ok = ();
    type Error = Differs;

    fn serialize_field<T: Serialize + ?Sized>(&mut self, value: &T) -> Met {
        self.item(value)
    }

    fn end(self) -> Met {
        self.end()
    }
}

impl<'w, 't> Serializer for &'w mut Walk<'t> {
    type Ok = ();
    type Error = Differs;
    type SerializeSeq = Items<'w, 't>;
    type SerializeTuple = Items<'w, 't>;
    type SerializeTupleStruct = Items<'w, 't>;
    type SerializeTupleVariant = Items<'w, 't>;
    type SerializeMap = Entries<'w, 't>;
    type SerializeStruct = Fields<'w, 't>;
    type SerializeStructVariant = Fields<'w, 't>;

    fn serialize_bool(self, flag: bool) -> Met {
        self.meet_all(if flag { b"true" } else { b"false" })
    }

    fn serialize_i8(self, number: i8) -> Met {
        self.serialize_i64(number.into())
    }

    fn serialize_i16(self, number: i16) -> Met {
        self.serialize_i64(number.into())
    }

    fn serialize_i32(self, number: i32) -> Met {
        self.serialize_i64(number.into())
    }

    fn serialize_i64(self, number: i64) -> Met {
        if number < 0 {
            self.meet(b'-')?;
        }
        self.integer(number.unsigned_abs())
    }

    fn serialize_u8(self, number: u8) -> Met {
        self.integer(number.into())
    }

    fn serialize_u16(self, number: u16) -> Met {
        self.integer(number.into())
    }

    fn serialize_u32(self, number: u32) -> Met {
        self.integer(number.into())
    }

    fn serialize_u64(self, number: u64) -> Met {
        self.integer(number)
    }

    /// The spelling of fractions is not plain.
    fn serialize_f32(self, _: f32) -> Met {
        Err(Differs)
    }

    fn serialize_f64(self, _: f64) -> Met {
        Err(Differs)
    }

    fn serialize_char(self, character: char) -> Met {
        self.text(character.encode_utf8(&mut [0; 4]))
    }

    fn serialize_str(self, text: &str) -> Met {
        self.text(text)
    }

    fn serialize_bytes(self, _: &[u8]) -> Met {
        Err(Differs)
    }

    fn serialize_none(self) -> Met {
        self.meet_all(b"null")
    }

    fn serialize_some<T: Serialize + ?Sized>(self, value: &T) -> Met {
        value.serialize(self)
    }

    fn serialize_unit(self) -> Met {
        self.meet_all(b"null")
    }

    fn serialize_unit_struct(self, _: &'static str) -> Met {
        self.meet_all(b"null")
    }

    fn serialize_unit_variant(self, _: &'static str, _: u32, variant: &'static str) -> Met {
        self.text(variant)
    }

    fn serialize_newtype_struct<T: Serialize + ?Sized>(self, _: &'static str, value: &T) -> Met {
        value.serialize(self)
    }

    fn serialize_newtype_variant<T: Serialize + ?Sized>(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
        value: &T,
    ) -> Met {
        self.variant(variant)?;
        value.serialize(&mut *self)?;
        self.meet(b'}')
    }

    fn serialize_seq(self, _: Option<usize>) -> Result<Items<'w, 't>, Differs> {
        Items::of(self, b"]")
    }

    fn serialize_tuple(self, _: usize) -> Result<Items<'w, 't>, Differs> {
        Items::of(self, b"]")
    }

    fn serialize_tuple_struct(self, _: &'static str, _: usize) -> Result<Items<'w, 't>, Differs> {
        Items::of(self, b"]")
    }

    fn serialize_tuple_variant(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
        _: usize,
    ) -> Result<Items<'w, 't>, Differs> {
        self.variant(variant)?;
        Items::of(self, b"]}")
    }

    fn serialize_map(self, _: Option<usize>) -> Result<Entries<'w, 't>, Differs> {
        self.meet(b'{')?;
        Ok(Entries {
            walk: self,
            key: None,
        })
    }

    fn serialize_struct(self, _: &'static str, _: usize) -> Result<Fields<'w, 't>, Differs> {
        Fields::of(self, 1)
    }

    fn serialize_struct_variant(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
        _: usize,
    ) -> Result<Fields<'w, 't>, Differs> {
        self.variant(variant)?;
        Fields::of(self, 2)
    }
}
