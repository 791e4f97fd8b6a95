"""Decides every command again, as docs/record-format.md says under "What follows from what", and folds what happened."""
import hashlib

import world
from outcomes import verdict
from plan import Plan, draw, run_seed
from values import Diverged, Refused, Unsure, canonical, digest, same

ACTIONS = {
    "open": {"text": str, "registration": dict, "tasks": list},
    "register": {"registration": str},
    "start": {"task": str, "arm": str, "executed": (str, dict)},
    "finish": {"run": int, "ending": dict},
    "score": {"run": int, "diff?": str},
    "close": {"run": int, "cause": str, "note?": str},
    "expire": {"run": int},
    "checkpoint": {"run": int, "passed": bool, "note?": str},
    "cost": {"run": int, "cost": int},
    "retry": {"run": int},
    "breaker": {"open": bool},
    "session": {},
    "switch": {"text": (str, type(None))},
    "read": {"id": str, "fields": dict},
    "preflight": {"arm": str, "status": str},
    "probe": {"id": str, "value": object},
    "add-task": {"task": object},
    "draw": {"from": int, "tasks": list},
    "void": {"block": int, "reason": str},
    "deviate": {"note": str, "arm?": str},
    "look": {"look": int, "tasks": int, "stops": bool},
    "conclude": {},
    "unblind": {},
}
EVENTS = {
    "opened": "registration draft",
    "registered": "registration slots",
    "started": "run task arm executed place? skipped? seed?",
    "ended": "run error_stop? cost? used?",
    "scored": "run",
    "unjudged": "run cause",
    "voided": "run",
    "tallied": "run window tally error",
    "priced": "run cost",
    "block-lasted": "span middle",
    "block-voided": "block stage voids requeued ended slots lanes",
    "slot-again": "lane stage position attempts reopened",
    "slot-ended": "lane next again?",
    "slot-waits": "lane",
    "counted": "lane ended all",
    "completed": "",
    "deviated": "arm?",
    "unblinded": "",
    "spent": "budget per ledger",
    "read": "id fields arm? stage?",
    "switched": "text",
    "preflighted": "arm status",
    "probed": "id value",
    "checked": "run passed",
    "task-added": "task pilot?",
    "drawn": "tasks slots",
    "breaker": "failures open",
    "looked": "look stops",
    "stopped": "code",
}
SEALED = {"finish": "execution", "score": "evidence"}
OWN_WORDS = ("failed", "timed-out", "cancelled", "lost", "stale")


class Lane:
    def __init__(self, next=None, stage=0, voids=0, open=None):
        self.next, self.stage, self.voids, self.open = next, stage, voids, open
        self.attempts, self.again, self.runs = 0, {}, []

    def ready(self):
        return None if self.open else min(self.again, default=self.next)

    def has_ended(self, position):
        return (self.next is None or position < self.next) and position not in self.again

    def attempts_at(self, position):
        return self.again.get(position, self.attempts if position == self.next else 0)


class Run:
    def __init__(self, **facts):
        self.state, self.cause, self.closed, self.evidence, self.checkpoint = "live", None, None, None, None
        self.error, self.window, self.error_stop, self.cost = False, None, None, "unknown"
        self.ending, self.execution = {"timed_out": False}, None
        self.__dict__.update(facts)

    def is_closed(self):
        return self.state not in ("live", "ended")

    def is_slot(self):
        return bool(self.place) and self.place["lane"]["draft"] == 0


def key(lane):
    return lane["draft"], lane["number"]


class Engine:
    """What stands on the record, and what follows."""

    def __init__(self):
        self.protocol = self.opened = self.registered = self.registration = None
        self.at = self.draft = self.slots_ended = self.slots = 0
        self.runs, self.lanes, self.windows, self.ledgers = {}, {}, {}, {}
        self.lanes_opened, self.stage_ended = {}, {}
        self.spans = []
        self.failures, self.breaker_open, self.switch = 0, False, None
        self.readings, self.preflight, self.probes, self.bound = {}, {}, {}, {}
        self.completed = self.stopped = False
        self.looks, self.look_stops = 0, False
        self.used, self.clocks_are_right = {}, True

    # One entry

    def entry(self, seq, command, ruling, sealed, values):
        action, at = command["action"], command["at"]
        do = self.check_action(action)
        self.clocks_are_right &= "clock" not in command
        for event in ruling.get("granted", []):
            self.check_event(event)
        if at < self.at:
            raise Diverged(seq, "time-decreases", "it is earlier than the entry before")
        if seq == 1 and do != "open":
            raise Diverged(seq, "first-entry", "no protocol is opened")
        withheld = values is None
        told = ruling.get("granted") if withheld else None
        said = (values or {}).get(SEALED.get(do))
        due = self.due(command)
        if due:
            raise Diverged(seq, "expiry-missing", f"the deadline of run {due[0]} had passed")
        outcomes = {}
        try:
            events = self.decide(command, said, told, outcomes)
            events = world.noted(self, at, events) if self.protocol else events
            derived = {"granted": events}
        except Refused as refused:
            events, derived = None, {"refused": refused.facts}
        if not self.agree(derived, ruling) or events == []:
            raise Diverged(seq, "ruling-differs", f"it says {ruling}, and {derived} follows")
        names = {SEALED[do]} if do in SEALED else set()
        if any(event["event"] == "scored" for event in events or []):
            names |= {f"outcomes.{outcome['id']}" for outcome in self.protocol["outcomes"]}
            names |= {"exposed"} if self.protocol["manipulation_check"] else set()
            if not withheld and any(not same(values.get(name, self), value) for name, value in outcomes.items()):
                raise Diverged(seq, "ruling-differs", f"{outcomes} follow from the evidence")
        if set(sealed) != names:
            raise Diverged(seq, "commitment", "it seals other names")
        self.fold(command, events or [], said)
        if do == "open" and events:
            self.open(action)

    @staticmethod
    def check_action(action):
        fields = ACTIONS.get(action["do"])
        if fields is None:
            raise ValueError(f"no action is called {action['do']}")
        needed = {name for name in fields if not name.endswith("?")} | {"do"}
        if not needed <= set(action) <= needed | {name.rstrip("?") for name in fields}:
            raise ValueError("the action has other keys")
        for name, kind in fields.items():
            value = action.get(name.rstrip("?"))
            is_absent = name.endswith("?") and name[:-1] not in action
            if not is_absent and (not isinstance(value, kind) or (kind is int and isinstance(value, bool))):
                raise ValueError(f"{name} is of another type")
        if action["do"] == "start" and action["executed"] != "here" and list(action["executed"]) != ["elsewhere"]:
            raise ValueError("executed by nobody")
        if action["do"] == "finish" and not {"timed_out"} <= set(action["ending"]) <= {"timed_out", "wall", "error_stop", "cost"}:
            raise ValueError("the ending has other keys")
        return action["do"]

    @staticmethod
    def check_event(event):
        names = EVENTS[event["event"]].split()
        needed = {name for name in names if not name.endswith("?")} | {"event"}
        if not needed <= set(event) <= needed | {name.rstrip("?") for name in names}:
            raise ValueError(f"{event['event']} has other keys")

    @staticmethod
    def agree(derived, ruling):
        one, other = derived.get("refused"), ruling.get("refused")
        if one and other and one["code"] in ("bad-reading", "bad-task"):
            return one["code"] == other["code"] and set(other) == {"code", "why"}
        return same(derived, ruling)

    def open(self, action):
        registration, tasks = action["registration"], action["tasks"]
        self.registration, self.protocol = registration, registration["protocol"]
        self.unknown_rules()
        lines = b"".join(canonical(task) + b"\n" for task in tasks)
        if hashlib.sha256(lines).hexdigest() != registration["frame"]:
            raise ValueError("the tasks are not those that the frame's digest binds")
        self.tasks = {task["id"]: task for task in tasks}
        drawn, pilots = draw(self.protocol, tasks)
        self.arms = [arm["id"] for arm in self.protocol["arms"]]
        self.plan, self.pilot_plan = Plan(self.protocol, drawn), Plan(self.protocol, pilots, pilot=True)
        self.drawn, self.pilots = {task["id"] for task in drawn}, {task["id"] for task in pilots}
        self.draw_order = [task["id"] for task in drawn]
        whole = [{name for name, value in task.items() if isinstance(value, float)} for task in tasks]
        self.fractional = set().union(*whole)

    def unknown_rules(self):
        protocol = self.protocol
        for unknown, rule in [
            (protocol["language"] != 1, "another language"),
            (protocol["allocation"]["by"] != "plan", "an order by counts"),
            (protocol["open_fields"] is not None, "an open frame"),
            (protocol["draw"]["grows"], "a draw that grows"),
        ]:
            if unknown:
                raise Unsure(rule)

    # Deadlines

    def is_stale(self, run, at):
        return run.state == "live" and run.started + self.protocol["attempts"]["stale_after"] <= at

    def is_admitted(self, command):
        kinds = self.protocol["actors"]
        kind, colon, _ = command["actor"].partition(":")
        return command["action"]["do"] in ("expire", "conclude") or not kinds or (bool(colon) and kind in kinds)

    def due(self, command):
        if self.protocol is None or not self.is_admitted(command):
            return []
        action, at = command["action"], command["at"]
        if action["do"] == "start":
            try:
                is_control = world.admissible(self, action, at) is None
            except Refused:
                return []
            return [] if is_control else [number for number, run in self.runs.items() if self.is_stale(run, at)]
        if action["do"] in ("finish", "score", "close") and self.protocol["attempts"]["late_report"] == "refuse":
            run = self.runs.get(action["run"])
            return [action["run"]] if run and self.is_stale(run, at) else []
        return []

    # Decisions

    def decide(self, command, said, told, outcomes):
        action, at = command["action"], command["at"]
        do = action["do"]
        if do == "open":
            if self.protocol is None or self.is_admitted(command):
                return self.decide_open(action["registration"])
        if not self.is_admitted(command):
            raise Refused("actor-not-admitted", actor=command["actor"])
        if do == "finish":
            return self.finish(action, at, said, told)
        if do == "score":
            return self.score(action, said, told, outcomes)
        if do == "start":
            return self.start(action, at)
        if do in ("close", "retry", "void", "checkpoint", "cost"):
            return getattr(self, do)(action)
        if do == "expire":
            return self.expire(action, at)
        if do in ("add-task", "draw"):
            raise Refused("frame-closed" if do == "add-task" else "draw-closed")
        return getattr(world, do)(self, action, at)

    def decide_open(self, registration):
        found = digest(registration)
        if self.opened == found:
            return []
        if self.registered:
            raise Refused("registration-differs", registered=self.registered, found=found, differs=world.differences(self.registration, registration))
        return [{"event": "opened", "registration": found, "draft": self.draft + 1}]

    def known(self, run):
        if run not in self.runs:
            raise Refused("unknown-run", run=run)
        return self.runs[run]

    def open_run(self, number):
        run = self.known(number)
        if run.cause == "stale" and run.closed is not None:
            raise Refused("stale", run=number, closed=run.closed)
        if run.is_closed():
            raise Refused("already-closed", run=number, state=run.state, cause=run.cause)
        return run

    def start(self, action, at):
        task, arm, place, skipped = action["task"], action["arm"], None, 0
        if world.admissible(self, action, at) is not None:
            world.not_in_outage(self, at)
            place, skipped = self.slot(task, arm, at, action["executed"] == "here")
            world.within_budgets(self, task, arm, place["attempt"] > 1)
        live = sum(run.state == "live" and not self.is_stale(run, at) for run in self.runs.values())
        cap = self.protocol["allocation"]["runs_max"]
        if live >= cap:
            raise Refused("cap-reached", runs_max=cap)
        event = {"event": "started", "run": len(self.runs) + 1, "task": task, "arm": arm, "executed": action["executed"]}
        if place:
            event["place"] = place
            if self.protocol["allocation"]["run_seed"]:
                event["seed"] = run_seed(task, place["repeat"] - 1)
        if skipped:
            event["skipped"] = skipped
        rerun = bool(place) and place["attempt"] > 1
        return [event] + (world.spent(self, task, arm, lambda ledger: world.opened(ledger, rerun)) if place else [])

    def read_apart(self, run):
        """Returns the arm and the stage alone of which a run says something, where a stop asks for that."""
        scopes = {stop["scope"] for stop in self.protocol["stops"]}
        of = {}
        if run.place and "arm" in scopes:
            of["arm"] = run.arm
        if run.is_slot() and "stage" in scopes and self.protocol["stages"]:
            of["stage"] = self.protocol["stages"][run.place.get("stage", 0)]["id"]
        return of

    def earliest(self, at, in_session):
        """Returns the position of the plan that may start, if one may."""
        if self.protocol["allocation"]["serial"] == "study" and any(run.is_slot() and not run.is_closed() for run in self.runs.values()):
            return None
        turns = []
        for number, positions in self.plan.lanes.items():
            if not world.may_start(self, self.plan.slots[positions[0]].stage, at, in_session):
                continue
            lane = self.lanes.get((0, number))
            ready = lane.ready() if lane else positions[0]
            if ready is not None:
                turns.append((not (lane and lane.voids), ready))
        return min(turns)[1] if turns else None

    def slot(self, task, arm, at, in_session):
        if task in self.pilots:
            for slot in self.pilot_plan.cells.get((task, arm), []):
                lane = self.lanes.get((self.draft, slot.position))
                if lane is None or lane.ready() is not None:
                    return self.place(slot, self.draft, slot.position), 0
            raise Refused("slots-used", task=task, arm=arm)
        found, wanted = self.earliest(at, in_session), self.plan.cells.get((task, arm), [])
        if any(slot.position == found for slot in wanted):
            slot = self.plan.slots[found]
            stood = (0, slot.lane) in self.lanes
            before = slot.lane - self.plan.stage_lanes[slot.stage].start - self.lanes_opened.get(slot.stage, 0)
            return self.place(slot, 0, slot.lane), 0 if stood else before
        if all(self.is_taken(slot) for slot in wanted):
            raise Refused("slots-used", task=task, arm=arm)
        next_one = None if found is None else {"task": self.plan.slots[found].task, "arm": self.plan.slots[found].arm}
        raise Refused("out-of-order", next=next_one)

    def is_taken(self, slot):
        lane = self.lanes.get((0, slot.lane))
        if lane is None:
            return False
        return lane.has_ended(slot.position) or (lane.open is not None and self.runs[lane.open].place["position"] == slot.position)

    def place(self, slot, draft, number):
        lane = self.lanes.get((draft, number))
        place = {
            "lane": {"draft": draft, "number": number},
            "position": slot.position,
            "block": slot.block,
            "repeat": slot.repeat + 1,
            "turn": slot.turn + 1,
            "attempt": (lane.attempts_at(slot.position) if lane else 0) + 1,
        }
        if slot.stage:
            place["stage"] = slot.stage
        if lane and lane.voids:
            place["voids"] = lane.voids
        return place

    def finish(self, action, at, said, told):
        number = action["run"]
        run = self.open_run(number)
        if run.state == "ended":
            raise Refused("already-ended", run=number)
        facts = world.observed(self, run, action["ending"], said) if told is None else world.told(told)
        event = {"event": "ended", "run": number}
        if facts["error_stop"] is not None:
            event["error_stop"] = facts["error_stop"]
        if facts["cost"] != "unknown":
            event["cost"] = facts["cost"] if facts["cost"] == "unreadable" else {"known": facts["cost"]}
        if facts["used"]:
            event["used"] = facts["used"]
        events = [event] + world.after_start(self, run.arm, True) + self.settled(run, facts["cost"])
        of = self.read_apart(run)
        events += [{"event": "read", "id": name, "fields": fields} | of for name, fields in sorted(facts["readings"].items())]
        scoring = self.protocol["scoring"]
        cause = None
        lacks = told is None and world.lacks_evidence(self, run, action["ending"], said, at)
        if lacks or (self.protocol["evidence"] and told is not None and {"event": "unjudged", "run": number, "cause": "evidence"} in told):
            cause = "evidence"
        elif action["ending"]["timed_out"] and scoring["on_timeout"] == "unjudged":
            cause = "timed-out"
        elif facts["error_stop"] and scoring["on_error_stop"] == "unjudged":
            cause = "failed"
        return self.complete(events + self.after_ending(number, run, at, facts["error"], cause))

    def settled(self, run, cost):
        return world.spent(self, run.task, run.arm, lambda ledger: world.settle(ledger, cost)) if run.place else []

    def after_ending(self, number, run, at, error, cause):
        events, stopped = world.tallied(self, number, run, at, error)
        counts = [one for one in sorted(stopped) if self.runs[one].state != "void" and not self.of_voided_block(self.runs[one])]
        voiding = []
        if counts and self.protocol["outage"]["voids"] == "run":
            voiding = self.void_runs(counts)
        elif counts:
            blocks = {self.runs[one].place["block"] for one in counts if self.runs[one].is_slot()}
            for block in sorted(blocks):
                voiding += self.void_block(block, number)
        events += voiding
        if {"event": "voided", "run": number} in voiding:
            return events
        if self.of_voided_block(run):
            return events + [{"event": "voided", "run": number}]
        if cause is None:
            return events
        left = None
        for event in voiding:
            if event["event"] == "slot-again" and (event["lane"], event["position"]) == (run.place["lane"], run.place["position"]):
                left = event["attempts"]
        return events + [{"event": "unjudged", "run": number, "cause": cause}] + self.after_closing(number, run, cause, left)

    def of_voided_block(self, run):
        if not run.place:
            return False
        lane = self.lanes.get(key(run.place["lane"]))
        return lane is not None and lane.voids != run.place.get("voids", 0)

    def attempts(self, lane, position):
        runs = [number for number in lane.runs if self.runs[number].place["position"] == position]
        return [number for number in runs if self.runs[number].state != "void"]

    def void_runs(self, void):
        events = [{"event": "voided", "run": number} for number in void]
        places = {(key(p["lane"]), p["position"], p.get("stage", 0)) for p in (self.runs[number].place for number in void)}
        for (draft, number), position, stage in sorted(places):
            lane = self.lanes[draft, number]
            left = [one for one in self.attempts(lane, position) if one not in void]
            last = self.runs[left[-1]] if left else None
            decided = last is not None and (last.state == "scored" or (last.state == "unjudged" and not self.follows(len(left), last.cause)))
            ended = lane.has_ended(position)
            if not (ended and decided):
                events.append(self.again({"draft": draft, "number": number}, stage, position, len(left), ended))
        return events

    @staticmethod
    def again(lane, stage, position, attempts, reopened):
        return {"event": "slot-again", "lane": lane, "stage": stage, "position": position, "attempts": attempts, "reopened": reopened}

    def follows(self, attempts, cause, words=None):
        rule = self.protocol["attempts"]
        word = cause if cause in OWN_WORDS else "unjudged"
        is_left = rule["per_slot"] is None or attempts < rule["per_slot"]
        return is_left and word in (rule["rerun"] if words is None else words)

    def void_block(self, block, ending):
        slots = self.plan.blocks[block]
        first = {}
        for slot in slots:
            first.setdefault(slot.lane, slot.position)
        found = [self.lanes[0, number] for number in first if (0, number) in self.lanes]
        runs = sorted(number for lane in found for number in lane.runs)
        goes = lambda number: (self.runs[number].state != "live" or number == ending) and self.runs[number].state != "void"
        voids = max((lane.voids for lane in found), default=0) + 1
        most = self.protocol["attempts"]["voids_max"]
        ended = sum((0, slot.lane) in self.lanes and self.lanes[0, slot.lane].has_ended(slot.position) for slot in slots)
        return [{"event": "voided", "run": number} for number in runs if goes(number)] + [
            {
                "event": "block-voided",
                "block": block,
                "stage": slots[0].stage,
                "voids": voids,
                "requeued": most is None or voids <= most,
                "ended": ended,
                "slots": len(slots),
                "lanes": [[{"draft": 0, "number": number}, position] for number, position in first.items()],
            }
        ]

    def after_closing(self, number, run, cause, left=None):
        if not run.place:
            return []
        place = run.place
        lane, position = self.lanes[key(place["lane"])], place["position"]
        if lane.open != number or lane.voids != place.get("voids", 0):
            return []
        count = lane.attempts_at(position) if left is None else left
        if cause is not None and self.follows(count, cause):
            return [{"event": "slot-waits", "lane": place["lane"]}]
        if position in lane.again:
            return [{"event": "slot-ended", "lane": place["lane"], "next": lane.next, "again": position}]
        following = self.plan.after(position) if run.is_slot() else None
        return [{"event": "slot-ended", "lane": place["lane"], "next": following}]

    def complete(self, events):
        more = 0
        for event in events:
            if event["event"] == "slot-ended":
                more += event["lane"]["draft"] == 0
            elif event["event"] == "slot-again":
                more -= event["lane"]["draft"] == 0 and event["reopened"]
            elif event["event"] == "block-voided":
                more += (0 if event["requeued"] else event["slots"]) - event["ended"]
        is_all = more > 0 and self.slots_ended + more == self.slots and not self.completed
        return events + ([{"event": "completed"}] if is_all else [])

    def score(self, action, said, told, outcomes):
        number = action["run"]
        run = self.known(number)
        if run.is_closed() and run.evidence is not None and said is not None and run.evidence == digest(said):
            return []
        run = self.open_run(number)
        if run.state == "live":
            raise Refused("not-ended", run=number)
        if "diff" in action:
            kept = (self.protocol["artefacts"] or {}).get("keep_diff_for", [])
            if self.tasks[run.task].get("split") not in kept:
                raise Refused("diff-not-kept", task=run.task)
        if told is None:
            if run.execution is None and self.withheld(run):
                raise Unsure("a score beside an execution that is withheld")
            cause, found = verdict(self, run, said)
            outcomes.update(found)
        else:
            cause = told[0].get("cause")
            if cause in (*OWN_WORDS, "evidence") or told[0]["event"] not in ("scored", "unjudged"):
                raise Refused("not-of-evidence")
        event = {"event": "scored", "run": number} if cause is None else {"event": "unjudged", "run": number, "cause": cause}
        return self.complete([event] + self.after_closing(number, run, cause))

    @staticmethod
    def withheld(run):
        return getattr(run, "is_withheld", False)

    def close(self, action):
        number, cause = action["run"], action["cause"]
        run = self.open_run(number)
        if cause not in ("failed", "cancelled", "lost"):
            raise Refused("not-a-cause", cause=cause)
        is_void = self.of_voided_block(run)
        events = [{"event": "voided", "run": number} if is_void else {"event": "unjudged", "run": number, "cause": cause}]
        if run.state == "live":
            events += self.settled(run, 0 if cause == "failed" else "unknown")
            events += world.after_start(self, run.arm, False) if cause == "failed" else []
        return self.complete(events + self.after_closing(number, run, cause))

    def expire(self, action, at):
        number = action["run"]
        run = self.open_run(number)
        if not self.is_stale(run, at):
            raise Refused("not-stale", run=number)
        return self.complete(self.settled(run, "unknown") + self.after_ending(number, run, at, False, "stale"))

    def retry(self, action):
        number = action["run"]
        run = self.known(number)
        place, rule = run.place, self.protocol["attempts"]
        if place and run.cause and run.state == "unjudged" and place["lane"]["draft"] in (0, self.draft):
            lane, position = self.lanes[key(place["lane"])], place["position"]
            attempts = self.attempts(lane, position)
            may = self.follows(len(attempts), run.cause, rule["rerun"] + rule["rerun_on_request"])
            if may and lane.voids == place.get("voids", 0) and attempts[-1:] == [number] and lane.has_ended(position):
                return [self.again(place["lane"], place.get("stage", 0), position, len(attempts), True)]
        raise Refused("not-retried", run=number)

    def void(self, action):
        slots = self.plan.blocks.get(action["block"] - 1) if self.registered else None
        if not slots:
            raise Refused("unknown-block", block=action["block"])
        lanes = [self.lanes[0, slot.lane] for slot in slots if (0, slot.lane) in self.lanes]
        if any(self.runs[number].state == "scored" for lane in lanes for number in lane.runs):
            raise Refused("block-scored", block=action["block"])
        return self.complete([{"event": "deviated"}] + self.void_block(action["block"] - 1, None))

    def checkpoint(self, action):
        number = action["run"]
        run = self.known(number)
        if run.arm not in self.protocol["checkpoint"]:
            raise Refused("no-checkpoint", arm=run.arm, declared=self.protocol["checkpoint"])
        run = self.open_run(number)
        if run.state == "ended":
            raise Refused("already-ended", run=number)
        if run.checkpoint is not None:
            raise Refused("checkpoint-exists", run=number)
        return [{"event": "checked", "run": number, "passed": action["passed"]}]

    def cost(self, action):
        number, cost = action["run"], action["cost"]
        run = self.known(number)
        if run.state == "live":
            raise Refused("not-ended", run=number)
        if run.cost == cost:
            return []
        if run.cost != "unknown":
            raise Refused("cost-stands", run=number)
        events = [{"event": "priced", "run": number, "cost": cost}]
        return events + (world.spent(self, run.task, run.arm, lambda ledger: world.learn(ledger, cost)) if run.place else [])

    # Folding

    def fold(self, command, events, said):
        action, self.at = command["action"], command["at"]
        for event in events:
            getattr(self, "on_" + event["event"].replace("-", "_"), lambda *_: None)(event, command["at"])
        if events and action["do"] == "finish":
            run = self.runs[action["run"]]
            run.ending, run.execution, run.is_withheld = action["ending"], said, said is None
        if events and action["do"] == "score" and said is not None:
            self.runs[action["run"]].evidence = digest(said)

    def on_opened(self, event, at):
        self.opened, self.draft, self.used = event["registration"], event["draft"], {}

    def on_deviated(self, event, at):
        self.used.pop(event.get("arm"), None)

    def on_registered(self, event, at):
        self.registered, self.slots, self.bound = event["registration"], event["slots"], dict(self.probes)

    def on_started(self, event, at):
        number, place = event["run"], event.get("place")
        self.runs[number] = Run(task=event["task"], arm=event["arm"], place=place, started=at)
        if not place:
            return
        draft, lane_number = key(place["lane"])
        stage = place.get("stage", 0)
        if (draft, lane_number) not in self.lanes:
            self.lanes[draft, lane_number] = Lane(stage=stage)
            if draft == 0:
                self.lanes_opened[stage] = self.lanes_opened.get(stage, 0) + 1 + event.get("skipped", 0)
        lane = self.lanes[draft, lane_number]
        lane.runs.append(number)
        lane.open = number
        if place["position"] in lane.again:
            lane.again[place["position"]] = place["attempt"]
        else:
            lane.next, lane.attempts = place["position"], place["attempt"]

    def on_ended(self, event, at):
        run = self.runs[event["run"]]
        cost = event.get("cost", "unknown")
        run.state, run.error_stop, run.cost = "ended", event.get("error_stop"), cost["known"] if isinstance(cost, dict) else cost

        for name, value in event.get("used", {}).items():
            if value is not None:
                of_arm = self.used.setdefault(run.arm, {})
                if name not in of_arm or of_arm[name][0] <= event["run"]:
                    of_arm[name] = (event["run"], value)

    def on_scored(self, event, at):
        run = self.runs[event["run"]]
        run.state, run.closed = "scored", at

    def on_unjudged(self, event, at):
        run = self.runs[event["run"]]
        run.state, run.cause, run.closed = "unjudged", event["cause"], at

    def on_voided(self, event, at):
        run = self.runs[event["run"]]
        run.state, run.closed = "void", at if run.closed is None else run.closed
        lane = self.lanes.get(key(run.place["lane"])) if run.place else None
        if lane and lane.open == event["run"]:
            lane.open = None

    def on_tallied(self, event, at):
        self.windows[event["window"]] = event["tally"]
        run = self.runs[event["run"]]
        run.window, run.error = event["window"], event["error"]

    def on_priced(self, event, at):
        self.runs[event["run"]].cost = event["cost"]

    def on_block_voided(self, event, at):
        self.slot_counts(event["stage"], (0 if event["requeued"] else event["slots"]) - event["ended"])
        for lane, first in event["lanes"]:
            old = self.lanes.get(key(lane))
            self.lanes[key(lane)] = Lane(first if event["requeued"] else None, event["stage"], event["voids"], old.open if old else None)

    def on_slot_again(self, event, at):
        lane = self.lanes[key(event["lane"])]
        if event["reopened"]:
            lane.again[event["position"]] = event["attempts"]
            if event["lane"]["draft"] == 0:
                self.slot_counts(event["stage"], -1)
        elif event["position"] in lane.again:
            lane.again[event["position"]] = event["attempts"]
        else:
            lane.attempts = event["attempts"]

    def on_slot_ended(self, event, at):
        lane = self.lanes[key(event["lane"])]
        if event["lane"]["draft"] == 0:
            self.slot_counts(lane.stage, 1)
        if "again" in event:
            lane.again.pop(event["again"], None)
        else:
            lane.attempts = 0
        lane.next, lane.open = event["next"], None

    def on_slot_waits(self, event, at):
        self.lanes[key(event["lane"])].open = None

    def slot_counts(self, stage, more):
        self.stage_ended[stage] = self.stage_ended.get(stage, 0) + more
        self.slots_ended += more

    def on_completed(self, event, at):
        self.completed = True

    def on_looked(self, event, at):
        self.looks, self.look_stops = event["look"], event["stops"]

    def on_stopped(self, event, at):
        self.stopped = True

    def on_spent(self, event, at):
        self.ledgers[event["budget"], event["per"]] = event["ledger"]

    def on_block_lasted(self, event, at):
        lasted, block = event["span"].split("-")
        self.spans = sorted(self.spans + [(int(lasted), int(block))])

    def on_read(self, event, at):
        arm, stage = event.get("arm"), event.get("stage")
        # What says something of all takes the place of what was read before.
        if arm is None and stage is None:
            self.readings[event["id"]] = []
        self.readings.setdefault(event["id"], []).append((event["fields"], arm, stage))

    def on_switched(self, event, at):
        self.switch = (event["text"],)

    def on_preflighted(self, event, at):
        self.preflight[event["arm"]] = event["status"]

    def on_probed(self, event, at):
        self.probes[event["id"]] = event["value"]

    def on_checked(self, event, at):
        self.runs[event["run"]].checkpoint = event["passed"]

    def on_breaker(self, event, at):
        self.failures, self.breaker_open = event["failures"], event["open"]
