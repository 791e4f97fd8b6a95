"""Draw, plan and order, as docs/record-format.md derives them."""
import re

from values import Unsure, sha

SAFE = re.compile(r"[\w^$()\[\]+*?.\\:|-]*", re.ASCII)


def draw(protocol, tasks):
    """Returns the drawn tasks and the pilots."""
    splits = protocol["splits"]
    kind = lambda task: "confirmatory" if splits is None else splits.get(task.get("split")) if isinstance(task.get("split"), str) else None
    rule = protocol["draw"]
    drawn = [task for task in tasks if kind(task) == "confirmatory"]
    if rule["method"] == "shuffled":
        seed = rule["seed"] or ""
        drawn.sort(key=lambda task: (sha(f"prereg-draw/1\n{seed}\n{task['id']}"), task["id"]))
    elif rule["method"] == "ranked":
        drawn.sort(key=lambda task: rank(rule["classes"], task["id"]))
    if rule["size"] is not None:
        drawn = drawn[: rule["size"]]
    return drawn, [task for task in tasks if kind(task) == "pilot"]


def rank(classes, name):
    for place, text in enumerate(classes):
        if not SAFE.fullmatch(text):
            raise Unsure(f"the class {text!r}")
        found = re.search(text, name, re.ASCII)
        if found:
            captured = found.group(1) if found.re.groups and found.group(1) else ""
            return place, int(captured) if captured.isdigit() else 0, name
    return len(classes), 0, name


class Slot:
    def __init__(self, **facts):
        self.__dict__.update(facts)


class Plan:
    """Every slot of a plan in the order of its positions; `lanes` and `blocks` hold positions."""

    def __init__(self, protocol, tasks, pilot=False):
        rule = protocol["allocation"]
        arms = [arm["id"] for arm in protocol["arms"]]
        stages = [stage["repeats"] for stage in protocol["stages"]] or [rule["repeats"]]
        serial = "none" if pilot else rule["serial"]
        self.slots, self.stage_lanes = [], []
        self.stages, first_lane, first_block, first_repeat = len(stages), 0, 0, 0
        block_axes = [axis for axis in rule["nest"] if axis == "task" or (axis == "repeat" and rule["block"] == "pair")]
        lane_axes = block_axes if serial == "block" else rule["nest"]
        for stage, repeats in enumerate(stages):
            radix = {"task": len(tasks), "repeat": repeats, "arm": len(arms)}
            count = lambda axes: number({axis: radix[axis] - 1 for axis in axes}, axes, radix) + 1 if len(tasks) else 0
            for place in range(radix["task"] * repeats * len(arms)):
                at, rest = {}, place
                for axis in reversed(rule["nest"]):
                    rest, at[axis] = divmod(rest, radix[axis])
                repeat = first_repeat + at["repeat"]
                order = arm_order(protocol, arms, tasks[at["task"]]["id"], at["task"], repeat)
                self.slots.append(
                    Slot(
                        position=len(self.slots),
                        stage=stage,
                        task=tasks[at["task"]]["id"],
                        repeat=repeat,
                        turn=at["arm"],
                        arm=arms[order[at["arm"]]],
                        lane=first_lane + number(at, lane_axes, radix),
                        block=first_block + number(at, block_axes, radix),
                    )
                )
            self.stage_lanes.append(range(first_lane, first_lane + count(lane_axes)))
            first_lane, first_block, first_repeat = first_lane + count(lane_axes), first_block + count(block_axes), first_repeat + repeats
        self.lanes, self.blocks, self.cells = {}, {}, {}
        for slot in self.slots:
            self.lanes.setdefault(slot.lane, []).append(slot.position)
            self.blocks.setdefault(slot.block, []).append(slot)
            self.cells.setdefault((slot.task, slot.arm), []).append(slot)
        for slots in self.cells.values():
            slots.sort(key=lambda slot: slot.repeat)

    def stage_len(self, stage):
        return sum(slot.stage == stage for slot in self.slots)

    def after(self, position):
        """Returns the next position in the same lane."""
        lane = self.lanes[self.slots[position].lane]
        return next((other for other in lane if other > position), None)


def number(at, axes, radix):
    found = 0
    for axis in axes:
        found = found * radix[axis] + at[axis]
    return found


def arm_order(protocol, arms, task, i, r):
    n, word = len(arms), protocol["allocation"]["arms"]
    if word == "alternating":
        return range(n)
    if word == "counterbalanced":
        return [(t + i + r) % n for t in range(n)]
    if word == "williams":
        zigzag = [0 if t == 0 else (t + 1) // 2 if t % 2 else n - t // 2 for t in range(n)]
        row = (i + r) % (n if n % 2 == 0 else 2 * n)
        return [(zigzag[t if row < n else n - 1 - t] + row) % n for t in range(n)]
    seed = protocol["draw"]["seed"] or ""
    return sorted(range(n), key=lambda arm: sha(f"prereg-arms/1\n{seed}\n{task}\n{r}\n{arms[arm]}"))


def run_seed(task, r):
    return int(sha(f"{task}:{r}").hex()[:8], 16) % 1_000_000
