//! Who may write to the record.

use prereg::engine::actors;
use serde_json::Value;

use super::shipped::staged;

pub(super) fn actor_shape(case: &Value) -> Value {
    let kinds = ["access", "github", "opkey", "agent"];
    let kinds = toml::Value::from(kinds.map(toml::Value::from).to_vec());
    let checked = staged(&[("actors.kinds", kinds)]);
    let actor = case["actor"].as_str().unwrap();
    Value::from(actors::is_admitted(
        &checked.registration.protocol.actors,
        actor,
    ))
}
