"""What a run's evidence means."""
from decimal import ROUND_HALF_EVEN, Decimal

from expressions import UNKNOWN, Failed, evaluate, parse
from values import Unsure, parse as parse_json

PLAIN = {"$schema", "$id", "title", "description", "examples", "default", "$comment"}
TYPES = {"object": dict, "array": list, "string": str, "boolean": bool, "null": type(None)}


def run_facts(run, ending, execution, error_stop, cost):
    """Returns what expressions may read of a run; what is not known is absent."""
    execution = execution or {}
    facts = {"arm": run.arm, "task": run.task, "timed_out": ending["timed_out"], "error_stop": bool(error_stop)}
    facts.update({name: execution[name] for name in ("exit", "signal", "cpu_ms") if name in execution})
    if run.place:
        facts.update(repeat=run.place["repeat"], attempt=run.place["attempt"])
    if isinstance(cost, int):
        facts["cost"] = float(Decimal(cost) / 1_000_000)
    if "wall" in ending:
        facts["wall_ms"] = ending["wall"] // 1000
    return facts


def verdict(engine, run, evidence):
    """Returns the cause for which a run is unjudged, or none, and what its score seals."""
    protocol, evidence = engine.protocol, evidence or {}
    names = {"run": run_facts(run, run.ending, run.execution, run.error_stop, run.cost)}
    task = engine.tasks[run.task]
    names["task"] = {name: fraction(value) if name in engine.fractional else value for name, value in task.items()}
    said = (run.execution or {}).get("observed")
    if said is not None:
        names["observed"] = said
    try:
        if protocol["claim"]:
            names["claim"] = claim(protocol["claim"]["done"], evidence.get("claim"))
        if protocol["judge"]:
            cause, report = judged(protocol["judge"], evidence)
            if cause:
                return cause, {}
            names["report"] = by_schema(report, protocol["judge"]["schema"])
        unjudged = protocol["scoring"]["unjudged"]
        if unjudged and evaluate(parse(unjudged), names) is True:
            return "infra", {}
        known, outcomes = {}, {}
        checks = protocol["manipulation_check"]
        if checks:
            outcomes["exposed"] = exposed(checks.get(run.arm), names)
        for outcome in protocol["outcomes"]:
            names["outcomes"] = dict(known)
            value = evaluate(parse(outcome["value"]), names)
            if value is not UNKNOWN:
                known[outcome["id"]] = fraction(value)
            outcomes[f"outcomes.{outcome['id']}"] = None if value is UNKNOWN else typed(outcome["kind"], value)
    except Failed:
        return "outcome-error", {}
    return None, outcomes


def exposed(check, names):
    found = UNKNOWN if check is None else evaluate(parse(check), names)
    if found is UNKNOWN:
        return None
    if not isinstance(found, bool):
        raise Failed("a check that is neither true nor false")
    return found


def claim(done, text):
    if text is None:
        return {"done": False}
    try:
        found = evaluate(parse(done), {"claim": parse_json(text.encode())})
    except (ValueError, Failed):
        return {}
    return {"done": found} if isinstance(found, bool) else {}


def judged(judge, evidence):
    ended = evidence.get("judge")
    if ended and ended["timed_out"]:
        return "judge-timeout", None
    if ended and (ended.get("exit") != 0 or "fault" in ended):
        return "judge-error", None
    if "report" not in evidence:
        return "no-report", None
    try:
        report = parse_json(evidence["report"].encode())
    except ValueError:
        return "bad-report", None
    return (None, report) if fits(report, judge["schema"]) else ("bad-report", None)


def is_number(value):
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def is_of(value, kind):
    if kind == "number":
        return is_number(value)
    if kind == "integer":
        return is_number(value) and value == int(value)
    return isinstance(value, TYPES[kind])


def fits(value, schema):
    """Returns whether a value satisfies the part of JSON Schema that is known here."""
    if isinstance(schema, bool):
        return schema
    for word, rule in schema.items():
        if word in PLAIN:
            continue
        if word == "type":
            good = any(is_of(value, kind) for kind in ([rule] if isinstance(rule, str) else rule))
        elif word == "required":
            good = not isinstance(value, dict) or set(rule) <= set(value)
        elif word == "properties":
            good = not isinstance(value, dict) or all(fits(value[name], inner) for name, inner in rule.items() if name in value)
        elif word == "additionalProperties":
            others = set(value) - set(schema.get("properties", {})) if isinstance(value, dict) else ()
            good = all(fits(value[name], rule) for name in others)
        elif word == "items":
            good = not isinstance(value, list) or all(fits(item, rule) for item in value)
        elif word in ("minimum", "maximum"):
            good = not is_number(value) or (value >= rule if word == "minimum" else value <= rule)
        else:
            raise Unsure(f"{word!r} in the schema of the report")
        if not good:
            return False
    return True


def fraction(value):
    return float(value) if is_number(value) else value


def by_schema(value, schema):
    """Makes fractions of the numbers that the schema calls so."""
    schema = schema if isinstance(schema, dict) else {}
    if is_number(value):
        return float(value) if schema.get("type") == "number" else value
    if isinstance(value, list):
        return [by_schema(item, schema.get("items")) for item in value]
    if isinstance(value, dict):
        return {name: by_schema(inner, schema.get("properties", {}).get(name)) for name, inner in value.items()}
    return value


def typed(kind, value):
    if kind == "binary" and isinstance(value, bool):
        return value
    if kind == "money" and is_number(value):
        return int((Decimal(repr(value)) * 1_000_000).quantize(Decimal(1), ROUND_HALF_EVEN))
    if kind in ("number", "duration") and is_number(value):
        return value
    raise Failed("the value is none of its kind")
