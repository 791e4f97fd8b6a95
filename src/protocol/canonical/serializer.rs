//! Takes data apart for whoever spells it: one who writes, or one who compares with what is written.

use serde::ser::{self, Serialize, Serializer};

use super::{NotSpelled, Spelled};

/// Spells what data is made of, in the order in which the serializer meets it.
pub(super) trait Spell: Sized {
    /// What is to be known of an object that is open.
    type Object;

    /// Spells a word or a bracket.
    fn word(&mut self, word: &[u8]) -> Spelled;

    /// Spells an integer that is not negative.
    fn integer(&mut self, magnitude: u64) -> Spelled;

    /// Spells a text.
    fn text(&mut self, text: &str) -> Spelled;

    /// Opens an object.
    fn open(&mut self) -> Result<Self::Object, NotSpelled>;

    /// Spells a field of a struct; fields may come in any order.
    fn field(
        &mut self,
        object: &mut Self::Object,
        name: &str,
        value: &(impl Serialize + ?Sized),
    ) -> Spelled;

    /// Spells a key of a map, up to its value.
    fn key(&mut self, object: &mut Self::Object, key: &(impl Serialize + ?Sized)) -> Spelled;

    /// Closes an object.
    fn close(&mut self, object: Self::Object) -> Spelled;

    /// Spells some data.
    fn spell(&mut self, data: &(impl Serialize + ?Sized)) -> Spelled {
        data.serialize(Into(self))
    }

    /// Spells the beginning of what is told apart by a name: an object whose one key it is.
    fn variant(&mut self, name: &str) -> Spelled {
        self.word(b"{")?;
        self.text(name)?;
        self.word(b":")
    }
}

/// Whom data is handed to.
struct Into<'s, S>(&'s mut S);

/// The members of an object.
struct Members<'s, S: Spell> {
    speller: &'s mut S,
    object: S::Object,
    /// What stands after it.
    end: &'static [u8],
}

impl<'s, S: Spell> Members<'s, S> {
    fn of(speller: &'s mut S, end: &'static [u8]) -> Result<Self, NotSpelled> {
        let object = speller.open()?;
        Ok(Self {
            speller,
            object,
            end,
        })
    }

    fn close(self) -> Spelled {
        self.speller.close(self.object)?;
        self.speller.word(self.end)
    }
}

impl<S: Spell> ser::SerializeStruct for Members<'_, S> {
    type Ok = ();
    type Error = NotSpelled;

    fn serialize_field<T: Serialize + ?Sized>(&mut self, name: &'static str, value: &T) -> Spelled {
        self.speller.field(&mut self.object, name, value)
    }

    fn end(self) -> Spelled {
        self.close()
    }
}

impl<S: Spell> ser::SerializeStructVariant for Members<'_, S> {
    type Ok = ();
    type Error = NotSpelled;

    fn serialize_field<T: Serialize + ?Sized>(&mut self, name: &'static str, value: &T) -> Spelled {
        self.speller.field(&mut self.object, name, value)
    }

    fn end(self) -> Spelled {
        self.close()
    }
}

impl<S: Spell> ser::SerializeMap for Members<'_, S> {
    type Ok = ();
    type Error = NotSpelled;

    fn serialize_key<T: Serialize + ?Sized>(&mut self, key: &T) -> Spelled {
        self.speller.key(&mut self.object, key)
    }

    fn serialize_value<T: Serialize + ?Sized>(&mut self, value: &T) -> Spelled {
        self.speller.spell(value)
    }

    fn end(self) -> Spelled {
        self.close()
    }
}

/// The items of a list.
struct Items<'s, S> {
    speller: &'s mut S,
    is_first: bool,
    /// What ends it.
    end: &'static [u8],
}

impl<'s, S: Spell> Items<'s, S> {
    fn of(speller: &'s mut S, end: &'static [u8]) -> Result<Self, NotSpelled> {
        speller.word(b"[")?;
        Ok(Self {
            speller,
            is_first: true,
            end,
        })
    }

    fn item(&mut self, value: &(impl Serialize + ?Sized)) -> Spelled {
        if !std::mem::take(&mut self.is_first) {
            self.speller.word(b",")?;
        }
        self.speller.spell(value)
    }

    fn end(self) -> Spelled {
        self.speller.word(self.end)
    }
}

impl<S: Spell> ser::SerializeSeq for Items<'_, S> {
    type Ok = ();
    type Error = NotSpelled;

    fn serialize_element<T: Serialize + ?Sized>(&mut self, value: &T) -> Spelled {
        self.item(value)
    }

    fn end(self) -> Spelled {
        self.end()
    }
}

impl<S: Spell> ser::SerializeTuple for Items<'_, S> {
    type Ok = ();
    type Error = NotSpelled;

    fn serialize_element<T: Serialize + ?Sized>(&mut self, value: &T) -> Spelled {
        self.item(value)
    }

    fn end(self) -> Spelled {
        self.end()
    }
}

impl<S: Spell> ser::SerializeTupleStruct for Items<'_, S> {
    type Ok = ();
    type Error = NotSpelled;

    fn serialize_field<T: Serialize + ?Sized>(&mut self, value: &T) -> Spelled {
        self.item(value)
    }

    fn end(self) -> Spelled {
        self.end()
    }
}

impl<S: Spell> ser::SerializeTupleVariant for Items<'_, S> {
    type Ok = ();
    type Error = NotSpelled;

    fn serialize_field<T: Serialize + ?Sized>(&mut self, value: &T) -> Spelled {
        self.item(value)
    }

    fn end(self) -> Spelled {
        self.end()
    }
}

impl<'s, S: Spell> Serializer for Into<'s, S> {
    type Ok = ();
    type Error = NotSpelled;
    type SerializeSeq = Items<'s, S>;
    type SerializeTuple = Items<'s, S>;
    type SerializeTupleStruct = Items<'s, S>;
    type SerializeTupleVariant = Items<'s, S>;
    type SerializeMap = Members<'s, S>;
    type SerializeStruct = Members<'s, S>;
    type SerializeStructVariant = Members<'s, S>;

    fn serialize_bool(self, flag: bool) -> Spelled {
        self.0.word(if flag { b"true" } else { b"false" })
    }

    fn serialize_i8(self, number: i8) -> Spelled {
        self.serialize_i64(number.into())
    }

    fn serialize_i16(self, number: i16) -> Spelled {
        self.serialize_i64(number.into())
    }

    fn serialize_i32(self, number: i32) -> Spelled {
        self.serialize_i64(number.into())
    }

    fn serialize_i64(self, number: i64) -> Spelled {
        if number < 0 {
            self.0.word(b"-")?;
        }
        self.0.integer(number.unsigned_abs())
    }

    fn serialize_u8(self, number: u8) -> Spelled {
        self.0.integer(number.into())
    }

    fn serialize_u16(self, number: u16) -> Spelled {
        self.0.integer(number.into())
    }

    fn serialize_u32(self, number: u32) -> Spelled {
        self.0.integer(number.into())
    }

    fn serialize_u64(self, number: u64) -> Spelled {
        self.0.integer(number)
    }

    /// The spelling of fractions is not plain.
    fn serialize_f32(self, _: f32) -> Spelled {
        Err(NotSpelled)
    }

    fn serialize_f64(self, _: f64) -> Spelled {
        Err(NotSpelled)
    }

    fn serialize_char(self, character: char) -> Spelled {
        self.0.text(character.encode_utf8(&mut [0; 4]))
    }

    fn serialize_str(self, text: &str) -> Spelled {
        self.0.text(text)
    }

    fn serialize_bytes(self, _: &[u8]) -> Spelled {
        Err(NotSpelled)
    }

    fn serialize_none(self) -> Spelled {
        self.0.word(b"null")
    }

    fn serialize_some<T: Serialize + ?Sized>(self, value: &T) -> Spelled {
        value.serialize(self)
    }

    fn serialize_unit(self) -> Spelled {
        self.0.word(b"null")
    }

    fn serialize_unit_struct(self, _: &'static str) -> Spelled {
        self.0.word(b"null")
    }

    fn serialize_unit_variant(self, _: &'static str, _: u32, variant: &'static str) -> Spelled {
        self.0.text(variant)
    }

    fn serialize_newtype_struct<T: Serialize + ?Sized>(
        self,
        _: &'static str,
        value: &T,
    ) -> Spelled {
        value.serialize(self)
    }

    fn serialize_newtype_variant<T: Serialize + ?Sized>(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
        value: &T,
    ) -> Spelled {
        self.0.variant(variant)?;
        self.0.spell(value)?;
        self.0.word(b"}")
    }

    fn serialize_seq(self, _: Option<usize>) -> Result<Items<'s, S>, NotSpelled> {
        Items::of(self.0, b"]")
    }

    fn serialize_tuple(self, _: usize) -> Result<Items<'s, S>, NotSpelled> {
        Items::of(self.0, b"]")
    }

    fn serialize_tuple_struct(self, _: &'static str, _: usize) -> Result<Items<'s, S>, NotSpelled> {
        Items::of(self.0, b"]")
    }

    fn serialize_tuple_variant(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
        _: usize,
    ) -> Result<Items<'s, S>, NotSpelled> {
        self.0.variant(variant)?;
        Items::of(self.0, b"]}")
    }

    fn serialize_map(self, _: Option<usize>) -> Result<Members<'s, S>, NotSpelled> {
        Members::of(self.0, b"")
    }

    fn serialize_struct(self, name: &'static str, _: usize) -> Result<Members<'s, S>, NotSpelled> {
        // What is no struct, but something that serializers tell one another.
        match name.starts_with('$') {
            true => Err(NotSpelled),
            false => Members::of(self.0, b""),
        }
    }

    fn serialize_struct_variant(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
        _: usize,
    ) -> Result<Members<'s, S>, NotSpelled> {
        self.0.variant(variant)?;
        Members::of(self.0, b"}")
    }
}
