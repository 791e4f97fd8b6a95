"""What a start has to pass, what the world and people report, and what is spent."""
from decimal import ROUND_HALF_EVEN, Decimal

from expressions import UNKNOWN, Failed, Moment, condition, evaluate, parse
from outcomes import run_facts
from values import EXACT, Refused, canonical, moment, precise, same

HOUR = 3_600_000_000


def micros(dollars):
    """Rounds an amount of dollars half-even to millionths."""
    return int((Decimal(repr(dollars)) * 1_000_000).quantize(Decimal(1), ROUND_HALF_EVEN))


# Guards, in their order


def admissible(engine, action, at):
    """Passes the guards before the slot; returns nothing for a control, and otherwise whether the task is drawn."""
    protocol, task, arm = engine.protocol, action["task"], action["arm"]
    switch_on(engine)
    if task not in engine.tasks:
        raise Refused("unknown-task", task=task)
    if arm not in engine.arms and arm not in [control["id"] for control in protocol["controls"]]:
        raise Refused("unknown-arm", arm=arm)
    if engine.breaker_open and is_guarded(protocol, arm):
        raise Refused("breaker-open", failures=engine.failures)
    if arm not in engine.arms:
        return None
    is_pilot = not is_confirmatory(protocol, engine.tasks[task])
    if is_pilot and engine.registered:
        raise Refused("split-closed", task=task)
    if not is_pilot and not engine.registered:
        raise Refused("not-registered", task=task)
    if task not in (engine.pilots if is_pilot else engine.drawn):
        raise Refused("not-drawn", task=task)
    if not is_pilot:
        looked(engine, task)
    if protocol["preflight"] is not None:
        for one in protocol["arms"]:
            status = engine.preflight.get(one["id"])
            if one["executed"] == "here" and status != "ready":
                raise Refused("not-ready", arm=one["id"], status=status)
    probes_hold(engine)
    settings_hold(engine, arm)
    free = []
    if protocol["stages"] and not is_pilot:
        free = [slot for slot in engine.plan.cells.get((task, arm), []) if not engine.is_taken(slot)]
    in_session = action["executed"] == "here"
    looks = lambda rule: not (in_session and rule["at"] == "session")
    if free:
        free = [slot for slot in free if may_start(engine, slot.stage, at, in_session)] or free
    conditions(engine, at, [arm], of_stage(engine, free[0] if free else None), looks)
    if protocol["stages"] and not is_pilot:
        if free and not is_open(engine, free[0].stage, at):
            raise Refused("stage-closed", stage=protocol["stages"][free[0].stage]["id"], place=free[0].stage)
        if free and not fits(engine, free[0], at):
            raise Refused("does-not-fit", stage=protocol["stages"][free[0].stage]["id"], place=free[0].stage)
    cutoff(protocol, at)
    within_budgets(engine, task, arm, False)
    return not is_pilot


def is_confirmatory(protocol, task):
    splits, split = protocol["splits"], task.get("split")
    return splits is None or (isinstance(split, str) and splits.get(split) == "confirmatory")


def switch_on(engine):
    if engine.protocol["switch"] is None or engine.switch == ("on",):
        return
    raise Refused("switch-unreadable" if engine.switch == (None,) else "off")


def is_guarded(protocol, arm):
    breaker = protocol["breaker"]
    return breaker is not None and (not breaker["arms"] or arm in breaker["arms"])


def look_at(engine, place):
    """A look by its place: at how many tasks, and how many of their slots have not ended."""
    looks = (engine.protocol["analysis"] or {}).get("looks")
    drawn = engine.draw_order
    sizes = [share["num"] * len(drawn) // share["den"] for share in looks["fractions"]] if looks else []
    sizes = [size for size in sizes if size < len(drawn)]
    if place >= len(sizes):
        return None
    first = set(drawn[: sizes[place]])
    lane = lambda slot: engine.lanes.get((0, slot.lane))
    has_ended = lambda slot: lane(slot) is not None and lane(slot).has_ended(slot.position)
    return sizes[place], sum(slot.task in first and not has_ended(slot) for slot in engine.plan.slots)


def next_look(engine):
    """The look that comes next: which one, at how many tasks, and how many of their slots have not ended."""
    if not engine.registered or engine.completed or engine.stopped or engine.look_stops:
        return None
    found = look_at(engine, engine.looks)
    return found and (engine.looks + 1, *found)


def look_ended(engine):
    return engine.look_stops and look_at(engine, engine.looks - 1)[1] == 0


def looked(engine, task):
    if engine.look_stops:
        size, open_slots = look_at(engine, engine.looks - 1)
        if open_slots and task in engine.draw_order[:size]:
            return
        raise Refused("look-stopped", look=engine.looks)
    found = next_look(engine)
    if found is not None and found[2] == 0:
        raise Refused("look-due", look=found[0], tasks=found[1])


def look(engine, action, at):
    """Whether it stops is taken at its word: that takes the whole analysis."""
    if engine.look_stops:
        raise Refused("look-stopped", look=engine.looks)
    found = next_look(engine)
    if found is None:
        raise Refused("look-not-due")
    if found[2] or (action["look"], action["tasks"]) != found[:2]:
        raise Refused("look-not-due", next=found[0], open=found[2])
    return [{"event": "looked", "look": action["look"], "stops": action["stops"]}]


def cutoff(protocol, at):
    if protocol["cutoff"] is not None and at >= protocol["cutoff"]:
        raise Refused("past-cutoff", cutoff=protocol["cutoff"])


def probes_hold(engine):
    for probe in engine.protocol["probes"]:
        if probe["id"] not in engine.probes:
            continue
        observed = engine.probes[probe["id"]]
        has_word = probe["expect"] is not None
        expected = probe["expect"] if has_word else engine.bound.get(probe["id"])
        if isinstance(observed, dict) and (expected is None or isinstance(expected, dict)):
            named = set(probe["expect_absent"])
            if expected is not None:
                named |= set(expected) | (set() if has_word else set(observed))
            compared = [
                (name, None if name in probe["expect_absent"] else (expected or {}).get(name), observed.get(name))
                for name in sorted(named - set(probe["record_only"]))
            ]
        else:
            compared = [] if expected is None else [(probe["id"], expected, observed)]
        for name, wanted, found in compared:
            if not same(wanted, found):
                raise Refused("probe-differs", probe=probe["id"], name=name, expected=wanted, observed=found)


def newest(engine, name, arm=None, stage=None):
    """Returns what was read last; of an arm or a stage, if that says something of it."""
    for fields, its_arm, its_stage in reversed(engine.readings.get(name, [])):
        if arm is not None and its_arm not in (None, arm):
            continue
        if stage is not None and its_stage not in (None, stage):
            continue
        return fields
    return None


def names_of(engine, at, **one):
    readings = {}
    for reading in engine.protocol["readings"]:
        fields = newest(engine, reading["id"], **one)
        if fields is None:
            continue
        kinds = {"number": float, "time": Moment}
        typed = {name: kinds.get(reading["fields"].get(name), lambda same: same)(value) for name, value in fields.items()}
        rule = reading["unknown_when"]
        if rule is None or condition(rule, {"reading": typed, "now": Moment(precise(at))}) is False:
            readings[reading["id"]] = typed
    complete = {
        stage["id"]: {"complete": engine.stage_ended.get(place, 0) == engine.plan.stage_len(place)}
        for place, stage in enumerate(engine.protocol["stages"])
    }
    return {"readings": readings, "stages": complete, "now": Moment(precise(at))}


def fired(table, place, rule, names, waits, of=None):
    """Returns the refusal of a rule, if it fires."""
    fires = condition(rule["when"], names)
    if fires is False or (fires is None and rule["unknown"] == "go"):
        return None
    holds = waits if fires else rule["unknown"] == "hold"
    facts = {"table": table, "rule": place, "id": rule["id"], "unknown": fires is None}
    if of is not None:
        facts["of"] = of
    until = value(rule.get("until"), names) if holds else None
    if isinstance(until, str):
        facts["until"] = moment(until)
    shows = value(rule["shows"], names)
    if isinstance(shows, (int, float)) and not isinstance(shows, bool):
        facts["shows"] = f"{shows:.3f}"
    return Refused("held" if holds else "stop-fired", **facts)


def stopped(engine, at, arms, stages, looks):
    """Returns the refusal of the first stop that fires for the study or one of these, if one does."""
    for place, rule in enumerate(engine.protocol["stops"]):
        whom = {"study": [{}], "arm": [{"arm": arm} for arm in arms], "stage": [{"stage": stage} for stage in stages]}
        for one in whom[rule["scope"]] if looks(rule) else []:
            found = fired("stops", place, rule, names_of(engine, at, **one), False, *one.values())
            if found:
                return found
    return None


def held(engine, at):
    rules = engine.protocol["holds"]
    names = names_of(engine, at) if rules else None
    found = (fired("holds", place, rule, names, True) for place, rule in enumerate(rules))
    return next((refused for refused in found if refused), None)


def of_stage(engine, slot):
    """Returns the id of a slot's stage, if there are stages."""
    stages = engine.protocol["stages"]
    return [stages[slot.stage]["id"]] if stages and slot else []


def may_start(engine, stage, at, in_session):
    """Returns whether a stage is open and no stop of it alone fires."""
    looks = lambda rule: rule["scope"] == "stage" and not (in_session and rule["at"] == "session")
    stages = [one["id"] for one in engine.protocol["stages"][stage : stage + 1]]
    return is_open(engine, stage, at) and not stopped(engine, at, [], stages, looks)


def value(text, names):
    try:
        found = UNKNOWN if text is None else evaluate(parse(text), names)
    except Failed:
        return None
    return None if found is UNKNOWN else found


def conditions(engine, at, arms, stages, looks):
    found = stopped(engine, at, arms, stages, looks) or held(engine, at)
    if found:
        raise found


def is_open(engine, stage, at):
    stages = engine.protocol["stages"]
    if not stages or stages[stage]["opens"] is None:
        return True
    names = names_of(engine, at)
    arms = [arm["id"] for arm in engine.protocol["arms"]]
    names["gates"] = {"go": not (stopped(engine, at, arms, [stages[stage]["id"]], lambda rule: True) or held(engine, at))}
    return condition(stages[stage]["opens"], names) is True


# Blocks that fit before the cut-off


def counted(engine, slot):
    """Returns the runs at a slot that count as attempts."""
    lane = engine.lanes.get((0, slot.lane))
    runs = [engine.runs[number] for number in (lane.runs if lane else [])]
    return [run for run in runs if run.place["position"] == slot.position and run.state != "void" and run.place.get("voids", 0) == lane.voids]


def fits(engine, slot, at):
    rule, end = engine.protocol["stages"][slot.stage]["fits"], engine.protocol["cutoff"]
    if rule is None or end is None or any(counted(engine, other) for other in engine.plan.blocks[slot.block]):
        return True
    spans = [lasted for lasted, _ in engine.spans]
    if not spans:
        return False
    lower, upper = spans[(len(spans) - 1) // 2], spans[len(spans) // 2]
    median = lower + (upper - lower + 1) // 2
    return median > 0 and end >= at and median * rule["margin"]["num"] <= (end - at) * rule["margin"]["den"]


def noted(engine, at, events):
    """Adds how long the block took whose last slot has ended."""
    protocol = engine.protocol
    if protocol["cutoff"] is None or not any(stage["fits"] for stage in protocol["stages"]):
        return events
    ended = next((event for event in events if event["event"] == "slot-ended" and event["lane"]["draft"] == 0), None)
    if ended is None:
        return events
    position = ended.get("again", engine.lanes[0, ended["lane"]["number"]].next)
    reopened = {event["position"] for event in events if event["event"] == "slot-again" and event["reopened"]}
    slots = engine.plan.blocks[engine.plan.slots[position].block]
    over = lambda slot: slot.position == position or ((0, slot.lane) in engine.lanes and engine.lanes[0, slot.lane].has_ended(slot.position))
    started = [run.started for slot in slots for run in counted(engine, slot)]
    if not started or not all(over(slot) and slot.position not in reopened for slot in slots):
        return events
    span = (abs(at - min(started)), slots[0].block)
    if span in engine.spans:
        return events
    spans = sorted(engine.spans + [span])
    text = lambda pair: "%020d-%020d" % pair
    return events + [{"event": "block-lasted", "span": text(span), "middle": text(spans[(len(spans) - 1) // 2])}]


# Outages


def is_outage(engine, tally):
    rule = engine.protocol["outage"]
    errors, share = tally.get("errors", {}), rule["error_share"]
    enough = sum(errors.values()) * share["den"] >= tally["ended"] * share["num"]
    everywhere = rule["errors_in"] == "any_arm" or all(arm in errors for arm in engine.arms)
    return tally["ended"] >= rule["ended_min"] and enough and everywhere


def not_in_outage(engine, at):
    rule, window = engine.protocol["outage"], at // HOUR
    if rule and rule["pauses_starts"] and window in engine.windows and is_outage(engine, engine.windows[window]):
        raise Refused("outage-hour", window=window)


def tallied(engine, number, run, at, error):
    """Returns the event that counts an ending in its window, and the runs that are stopped by it."""
    if engine.protocol["outage"] is None or not run.place:
        return [], set()
    window = at // HOUR
    before = engine.windows.get(window, {"ended": 0})
    errors = dict(before.get("errors", {}))
    if error:
        errors[run.arm] = errors.get(run.arm, 0) + 1
    tally = {"ended": before["ended"] + 1, **({"errors": errors} if errors else {})}
    was, now, stopped = is_outage(engine, before), is_outage(engine, tally), set()
    if now and not was:
        stopped |= {one for one, other in engine.runs.items() if other.error and other.window == window}
    if now and error:
        stopped.add(number)
    return [{"event": "tallied", "run": number, "window": window, "tally": tally, "error": error}], stopped


# What a run says of itself


def observed(engine, run, ending, execution):
    protocol, said = engine.protocol, (execution or {}).get("observed")
    rules, outage = protocol["observation"] or {}, protocol["outage"] or {}
    names = {"task": engine.tasks[run.task], "run": run_facts(run, ending, execution, ending.get("error_stop"), "unknown")}
    if said is not None:
        names["observed"] = said
    told = condition(rules["error_stop"], names) if rules.get("error_stop") else None
    error_stop = ending.get("error_stop") if told is None else told
    names["run"] = run_facts(run, ending, execution, error_stop, "unknown")
    cost = "unknown"
    if rules.get("cost"):
        try:
            cost = cost_of(evaluate(parse(rules["cost"]), names))
        except Failed:
            cost = "unknown" if said is None else "unreadable"
    if cost == "unknown" and "cost" in ending:
        cost = ending["cost"]
    readings = {}
    for reading in protocol["readings"]:
        if reading["from"] == "observation" and isinstance(said, dict) and reading["id"] in said:
            try:
                readings[reading["id"]] = typed(reading, said[reading["id"]])
            except ValueError:
                pass
    error = bool(outage) and condition(outage["error"], names) is True
    used = dict.fromkeys(execution_of(protocol, run.arm)["requests"])
    for name, text in rules.get("effective", {}).items():
        used[name] = setting(text, names)
    return {"error_stop": error_stop, "error": error, "cost": cost, "readings": readings, "used": used}


def execution_of(protocol, arm):
    return next((one["execution"] for one in protocol["arms"] if one["id"] == arm), protocol["execution"])


def setting(text, names):
    try:
        found = evaluate(parse(text), names)
    except Failed:
        return None
    return None if found is UNKNOWN else found


def settings_hold(engine, arm):
    """Refuses an arm that was last seen to use something else than it was asked to."""
    seen = engine.used.get(arm, {})
    for name, requested in sorted(execution_of(engine.protocol, arm)["requests"].items()):
        if name not in seen:
            continue
        run, value = seen[name]
        text = value if isinstance(value, str) else canonical(value).decode()
        if text != requested:
            raise Refused("binding-changed", arm=arm, run=run, name=name, requested=requested, effective=value)


SECOND = 1_000_000


def lacks_evidence(engine, run, ending, execution, at):
    """Returns whether a measurement that is required is missing, or does not cohere."""
    if "measurement" not in engine.protocol["evidence"]:
        return False
    said = execution or {}
    parts = ("ended_by", "user", "system", "memory", "stdout", "stderr")
    if "wall" not in ending or not all(part in said for part in parts) or ("exit" in said) == ("signal" in said):
        return True
    wall, by = ending["wall"], said["ended_by"]
    limit = execution_of(engine.protocol, run.arm)["timeout"]
    streams = [said["stdout"], said["stderr"]]
    wrong = [
        (by in ("time-limit", "cpu-limit")) != ending["timed_out"],
        by == "signal" and "signal" not in said,
        by == "itself" and "exit" not in said,
        by == "time-limit" and limit is not None and wall + 2 * SECOND < limit,
        "processors" in said and said["user"] + said["system"] > (wall + 10 * SECOND) * said["processors"],
        any(not one.get("tail", 0) <= one["kept"] <= one["bytes"] for one in streams),
        any(("digest" in one) != (one["bytes"] > 0) for one in streams),
    ]
    if engine.clocks_are_right:
        seen = said.get("workspace", {})
        writes = [seen[name] for name in ("first_write", "last_write") if name in seen]
        wrong.append(run.started + wall > at + 2 * SECOND)
        wrong.append(writes != sorted(writes) or any(not run.started - 2 * SECOND <= one <= at + 2 * SECOND for one in writes))
    return any(wrong)


def cost_of(dollars):
    if dollars is UNKNOWN or dollars is None:
        return "unknown"
    if isinstance(dollars, bool) or not isinstance(dollars, (int, float)):
        return "unreadable"
    found = micros(dollars)
    return found if 0 <= found <= EXACT else "unreadable"


def told(events):
    """Takes what the events say, where what was observed is withheld."""
    facts = {"error_stop": None, "error": False, "cost": "unknown", "readings": {}, "used": {}}
    for event in events:
        if event["event"] == "ended":
            cost = event.get("cost", "unknown")
            facts["error_stop"], facts["cost"] = event.get("error_stop"), cost["known"] if isinstance(cost, dict) else cost
            facts["used"] = event.get("used", {})
        elif event["event"] == "tallied":
            facts["error"] = event["error"]
        elif event["event"] == "read":
            facts["readings"][event["id"]] = event["fields"]
    return facts


def typed(reading, fields):
    """Takes a reading as it was reported; null is absent."""
    if not isinstance(fields, dict):
        raise ValueError("no object")
    found = {}
    for name, value in fields.items():
        kind = reading["fields"].get(name)
        if kind is None:
            raise ValueError(f"{name} is not declared")
        if value is None:
            continue
        is_number = isinstance(value, (int, float)) and not isinstance(value, bool) and abs(value) <= EXACT
        if kind == "time":
            if not isinstance(value, str) and not is_number:
                raise ValueError(f"{name} is no time")
            value = precise(moment(value) if isinstance(value, str) else micros(value))
        elif kind in ("integer", "number"):
            if not is_number or (kind == "integer" and value != int(value)):
                raise ValueError(f"{name} is no number")
            value = int(value) if value == int(value) else value
        elif not isinstance(value, {"string": str, "boolean": bool}[kind]):
            raise ValueError(f"{name} is of another type")
        found[name] = value
    return found


def after_start(engine, arm, was_executed):
    protocol = engine.protocol
    if not is_guarded(protocol, arm) or (was_executed and engine.failures == 0):
        return []
    failures = 0 if was_executed else engine.failures + 1
    return [{"event": "breaker", "failures": failures, "open": engine.breaker_open or failures >= protocol["breaker"]["failures"]}]


# Budgets

EMPTY = {"live": 0, "reruns": 0, "settled": 0, "unknown": 0, "unreadable": False}


def opened(ledger, rerun):
    ledger["live"] += 1
    ledger["reruns"] += rerun


def settle(ledger, cost):
    ledger["live"] = max(ledger["live"] - 1, 0)
    if cost == "unknown":
        ledger["unknown"] += 1
    elif cost == "unreadable":
        ledger["unreadable"] = True
    else:
        ledger["settled"] = min(ledger["settled"] + cost, EXACT)


def learn(ledger, cost):
    ledger["unknown"] = max(ledger["unknown"] - 1, 0)
    ledger["settled"] = min(ledger["settled"] + cost, EXACT)


def per(budget, task, arm):
    return {"study": "", "task": task, "arm": arm}[budget["per"]]


def spent(engine, task, arm, change):
    events = []
    for place, budget in enumerate(engine.protocol["budgets"]):
        ledger = dict(engine.ledgers.get((place, per(budget, task, arm)), EMPTY))
        change(ledger)
        events.append({"event": "spent", "budget": place, "per": per(budget, task, arm), "ledger": ledger})
    return events


def over(budget, ledger, rerun):
    if "count" in budget["max"]:
        most = budget["max"]["count"]
        return {"reruns": {"spent": ledger["reruns"], "max": most}} if rerun and ledger["reruns"] >= most else None
    most, reserve, word = budget["max"]["cost"], budget["reserve"] or 0, budget["unknown"]
    total = ledger["settled"] + (reserve * ledger["unknown"] if word == "reserve" else 0)
    held = reserve * (ledger["live"] + 1)
    money = lambda for_good: {"money": {"spent": total, "held": held, "max": most, "for_good": for_good}}
    if ledger["unreadable"]:
        return "unreadable"
    if word == "stop" and ledger["unknown"]:
        return "stop"
    if total + reserve > most:
        return money(True)
    if word in (None, "hold") and ledger["unknown"]:
        return "hold"
    return money(False) if total + held > most else None


def within_budgets(engine, task, arm, rerun):
    for place, budget in enumerate(engine.protocol["budgets"]):
        found = over(budget, engine.ledgers.get((place, per(budget, task, arm)), EMPTY), rerun)
        if found:
            raise Refused("over-budget", budget=place, over=found)


# What the world and people report


def differences(one, other):
    found = []

    def compare(mine, theirs, path):
        if isinstance(mine, dict) and isinstance(theirs, dict) and set(mine) != {"num", "den"}:
            for name in sorted(set(mine) | set(theirs)):
                compare(mine.get(name), theirs.get(name), f"{path}.{name}" if path else name)
        elif isinstance(mine, list) and isinstance(theirs, list) and len(mine) == len(theirs):
            for place, pair in enumerate(zip(mine, theirs)):
                compare(*pair, f"{path}.{place}" if path else str(place))
        elif not same(mine, theirs):
            found.append("seed" if path == "draw.seed" else path)

    compare(one["protocol"], other["protocol"], "")
    if one["frame"] != other["frame"]:
        found.append("frame")
    paths = sorted(one["files"]) + sorted(set(other["files"]) - set(one["files"]))
    return found + [f"file {path}" for path in paths if one["files"].get(path) != other["files"].get(path)]


def register(engine, action, at):
    if engine.registered == action["registration"]:
        return []
    if engine.opened != action["registration"]:
        raise Refused("not-opened-last", opened=engine.opened)
    return [{"event": "registered", "registration": engine.opened, "slots": len(engine.plan.slots)}]


def breaker(engine, action, at):
    rule = engine.protocol["breaker"]
    if rule is None:
        raise Refused("no-breaker")
    if action["open"] and not rule["external"]:
        raise Refused("breaker-internal")
    return [] if action["open"] == engine.breaker_open else [{"event": "breaker", "failures": 0, "open": action["open"]}]


def session(engine, action, at):
    switch_on(engine)
    away = [arm["id"] for arm in engine.protocol["arms"] if arm["executed"] == "elsewhere"]
    if engine.protocol["preflight"] is not None and away:
        raise Refused("no-direct-cell") if len(away) == len(engine.arms) else Refused("arm-elsewhere", arm=away[0])
    here = [arm["id"] for arm in engine.protocol["arms"] if arm["executed"] == "here"]
    stages = engine.protocol["stages"]
    under_way = [
        stage["id"]
        for place, stage in enumerate(stages)
        if engine.stage_ended.get(place, 0) != engine.plan.stage_len(place) and is_open(engine, place, at)
    ]
    conditions(engine, at, here, under_way, lambda rule: rule["scope"] == "study" or rule["at"] == "session")
    return []


def switch(engine, action, at):
    if engine.protocol["switch"] is None:
        raise Refused("no-switch")
    return [] if engine.switch == (action["text"],) else [{"event": "switched", "text": action["text"]}]


def read(engine, action, at):
    reading = next((one for one in engine.protocol["readings"] if one["id"] == action["id"]), None)
    try:
        if reading is None:
            raise ValueError("no such reading")
        fields = typed(reading, action["fields"])
    except ValueError as error:
        raise Refused("bad-reading", why=str(error))
    known = engine.readings.get(action["id"], [(None, None, None)])[-1]
    is_known = known[0] is not None and same(known[0], fields) and known[1:] == (None, None)
    return [] if is_known else [{"event": "read", "id": action["id"], "fields": fields}]


def preflight(engine, action, at):
    return [{"event": "preflighted", "arm": action["arm"], "status": action["status"]}]


def probe(engine, action, at):
    name, value = action["id"], action["value"]
    is_known = name in engine.probes and same(engine.probes[name], value)
    return [] if is_known else [{"event": "probed", "id": name, "value": value}]


def deviate(engine, action, at):
    arm = action.get("arm")
    if arm is not None and arm not in engine.arms:
        raise Refused("unknown-arm", arm=arm)
    return [{"event": "deviated"} | ({} if arm is None else {"arm": arm})]


def unblind(engine, action, at):
    return [{"event": "unblinded"}]


def conclude(engine, action, at):
    if engine.completed or engine.stopped:
        return []
    code = None
    if look_ended(engine):
        code = "look-stopped"
    elif engine.protocol["cutoff"] is not None and at >= engine.protocol["cutoff"]:
        code = "past-cutoff"
    else:
        for place, budget in enumerate(engine.protocol["budgets"]):
            found = over(budget, engine.ledgers.get((place, ""), EMPTY), False) if budget["per"] == "study" else None
            is_for_good = found in ("stop", "unreadable") or (isinstance(found, dict) and found.get("money", {}).get("for_good"))
            code = code or ("over-budget" if is_for_good else None)
    if code is None or not engine.registered or any(not run.is_closed() for run in engine.runs.values()):
        raise Refused("not-over")
    return [{"event": "stopped", "code": code}]
