//! JSON into values of the language and back.

use std::collections::HashMap;

use cel::common::types::{
    CelBool, CelDouble, CelInt, CelList, CelMap, CelMapKey, CelNull, CelString, CelUInt,
};
use cel::common::value::Val;
use serde_json::Value as Json;

use super::evaluate::{EvaluationError, NOT_FINITE};

/// Converts a JSON value; whole numbers become `int`, never `uint`, which has no arithmetic with `int`.
pub(super) fn from_json(value: &Json) -> Box<dyn Val + '_> {
    match value {
        Json::Null => Box::new(CelNull),
        Json::Bool(truth) => Box::new(CelBool::from(*truth)),
        Json::Number(number) => match number.as_i64() {
            Some(whole) => Box::new(CelInt::from(whole)),
            // Every other number that JSON has here is a double.
            None => Box::new(CelDouble::from(number.as_f64().unwrap_or(f64::NAN))),
        },
        Json::String(text) => Box::new(CelString::from(text.as_str())),
        Json::Array(items) => Box::new(CelList::from(
            items.iter().map(from_json).collect::<Vec<_>>(),
        )),
        Json::Object(fields) => {
            let fields = fields
                .iter()
                .map(|(name, value)| (CelMapKey::from(name.as_str()), from_json(value)));
            Box::new(CelMap::from(fields.collect::<HashMap<_, _>>()))
        }
    }
}

pub(super) fn to_json(value: &dyn Val) -> Result<Json, EvaluationError> {
    if value.downcast_ref::<CelNull>().is_some() {
        return Ok(Json::Null);
    }
    if let Some(truth) = value.downcast_ref::<CelBool>() {
        return Ok(Json::Bool(*truth.inner()));
    }
    if let Some(whole) = value.downcast_ref::<CelInt>() {
        return Ok(Json::from(*whole.inner()));
    }
    if let Some(double) = value.downcast_ref::<CelDouble>() {
        let number = serde_json::Number::from_f64(*double.inner());
        return number
            .map(Json::Number)
            .ok_or_else(|| EvaluationError::new(NOT_FINITE));
    }
    if let Some(text) = value.downcast_ref::<CelString>() {
        return Ok(Json::String(text.inner().to_owned()));
    }
    if let Some(list) = value.downcast_ref::<CelList>() {
        return list
            .inner()
            .iter()
            .map(|item| to_json(item.as_ref()))
            .collect::<Result<_, _>>()
            .map(Json::Array);
    }
    if let Some(map) = value.downcast_ref::<CelMap>() {
        return map
            .inner()
            .iter()
            .map(|(key, value)| Ok((field_name(key)?, to_json(value.as_ref())?)))
            .collect();
    }
    Err(EvaluationError::new(format!(
        "the result is a {}, which JSON does not have",
        type_name(value)
    )))
}

fn field_name(key: &CelMapKey) -> Result<String, EvaluationError> {
    match key {
        CelMapKey::String(name) => Ok(name.inner().to_owned()),
        _ => Err(EvaluationError::new(
            "the result is a map with a key that is not a text",
        )),
    }
}

pub(super) fn type_name(value: &dyn Val) -> &str {
    // The name in the type system is the language's own except for these two.
    if value.downcast_ref::<CelList>().is_some() {
        "list"
    } else if value.downcast_ref::<CelUInt>().is_some() {
        "uint"
    } else {
        value.get_type().name()
    }
}
