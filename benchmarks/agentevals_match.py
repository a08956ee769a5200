"""trajectory-match beside agentevals: the same generated trajectories, every mode, every answer.

    pip install agentevals
    python benchmarks/agentevals_match.py [TRAJECTORIES] [SEED]

Prints in how many comparisons both say the same, and why in the others they do not. Each reason
is tested: the difference has to vanish once that one peculiarity is taken away. docs/checks.md
explains them. The exit code is 1 where a difference has no known reason.
"""

from __future__ import annotations

import json
import random
import sys
from collections import Counter
from collections.abc import Sequence
from itertools import permutations
from typing import Any

from helix.checks.trajectory import TrajectoryParams, trajectory_match
from helix.ingest.formats import openai_chat
from helix.model.trace import Trace
from helix.registry import CheckContext, Record

try:
    from agentevals.trajectory.match import create_trajectory_match_evaluator
except ImportError:
    sys.exit("agentevals is not installed: pip install agentevals")

MODES = ("strict", "unordered", "subset", "superset")
ARGUMENTS = ("exact", "ignore", "subset", "superset")
OVERRIDDEN = "search"
TOOLS = ("search", "book", "pay", "mail")
VALUES: tuple[Any, ...] = (1, 2, 1.0, "1", "a", "Zoë", True, None, [1, 2], {"x": 1}, {"x": True})
SWAPPED = {"subset": "superset", "superset": "subset"}

Call = tuple[str, dict[str, Any]]
Turns = list[list[Call]]


def arguments(rng: random.Random) -> dict[str, Any]:
    return {key: rng.choice(VALUES) for key in "qnf" if rng.random() < 0.6}


def reference(rng: random.Random) -> Turns:
    """Return one to four turns of one to three calls each."""
    return [
        [(rng.choice(TOOLS), arguments(rng)) for _ in range(rng.choice((1, 1, 2, 3)))]
        for _ in range(rng.randint(1, 4))
    ]


def changed(turns: Turns, rng: random.Random) -> Turns:
    """Return a run of the agent: the reference after up to three faults and variations."""
    made = [[(name, dict(given)) for name, given in turn] for turn in turns]
    for _ in range(rng.randint(0, 3)):
        at = rng.randrange(len(made))
        turn = made[at]
        fault = rng.choice(("drop", "repeat", "shuffle", "swap", "value", "less", "split", "add"))
        which = rng.randrange(len(turn))
        given = turn[which][1]
        if fault == "drop":
            del turn[which]
        elif fault == "repeat":
            turn.append((turn[which][0], dict(given)))
        elif fault == "shuffle":
            rng.shuffle(turn)
        elif fault == "swap":
            rng.shuffle(made)
        elif fault == "value":
            given[rng.choice("qnf")] = rng.choice(VALUES)
        elif fault == "less" and given:
            del given[rng.choice(sorted(given))]
        elif fault == "split":
            made[at : at + 1] = [turn[:which], turn[which:]]
        elif fault == "add":
            made.insert(at, [(rng.choice(TOOLS), arguments(rng))])
        made = [turn for turn in made if turn]
        if not made:
            break
    return made


def messages(turns: Turns) -> list[dict[str, Any]]:
    """Return the chat of a run: each turn one message with its calls, then their results."""
    chat: list[dict[str, Any]] = [{"role": "user", "content": "go"}]
    number = 0
    for turn in turns:
        ids = [f"call_{number + at}" for at in range(len(turn))]
        number += len(turn)
        calls = [
            {"id": id, "type": "function",
             "function": {"name": name, "arguments": json.dumps(given, ensure_ascii=False)}}
            for id, (name, given) in zip(ids, turn, strict=True)
        ]  # fmt: skip
        chat.append({"role": "assistant", "content": "", "tool_calls": calls})
        chat += [{"role": "tool", "tool_call_id": id, "content": "{}"} for id in ids]
    return [*chat, {"role": "assistant", "content": "done"}]


def as_trace(turns: Turns) -> Trace:
    """Return the run as Helix reads its chat."""
    chat = messages(turns)
    data = json.dumps(chat, ensure_ascii=False).encode("utf-8")
    (trace,) = openai_chat.FORMAT.read([Record(chat, data, "made.json", 0)])
    return trace


def flat(turns: Turns) -> list[Call]:
    return [call for turn in turns for call in turn]


def helix(trace: Trace, expected: Turns, mode: str, how: str, overrides: dict[str, str]) -> str:
    calls = [{"tool": name, "arguments": given} for name, given in flat(expected)]
    named = {name for name, _ in flat(expected)}
    row = {"expected": calls, "mode": mode, "arguments": how,
           "arguments_of": {k: v for k, v in overrides.items() if k in named}}  # fmt: skip
    known = CheckContext(inventory=frozenset(TOOLS))
    return trajectory_match(trace, TrajectoryParams.model_validate(row), known).state


def peer(made: Turns, expected: Turns, mode: str, how: str, overrides: dict[str, str]) -> bool:
    evaluator: Any = create_trajectory_match_evaluator(
        trajectory_match_mode=mode,  # type: ignore[arg-type]
        tool_args_match_mode=how,  # type: ignore[arg-type]
        tool_args_match_overrides=overrides or None,  # type: ignore[arg-type]
    )
    return bool(evaluator(outputs=messages(made), reference_outputs=messages(expected))["score"])


def straightened(made: Turns, expected: Turns, mode: str, how: str, over: dict[str, str]) -> bool:
    """Return the peer's answer with its arguments the right way round."""
    turned = {name: SWAPPED.get(value, value) for name, value in over.items()}
    if mode == "subset":
        return peer(made, expected, mode, SWAPPED.get(how, how), turned)
    if mode == "unordered":
        return all(straightened(made, expected, m, how, over) for m in ("subset", "superset"))
    return peer(made, expected, mode, how, over)


def typed(value: Any) -> Any:
    """Return a value in which true and false are not equal to 1 and 0."""
    if isinstance(value, bool):
        return f"<{value}>"
    if isinstance(value, dict):
        return {key: typed(below) for key, below in value.items()}
    return [typed(below) for below in value] if isinstance(value, list) else value


def retyped(turns: Turns) -> Turns:
    return [[(name, typed(given)) for name, given in turn] for turn in turns]


def regrouped(expected: Turns, made: Turns) -> Turns:
    """Return the expected calls in turns as long as those that were made."""
    calls = iter(flat(expected))
    return [[next(calls) for _ in turn] for turn in made]


def reason(ours: str, made: Turns, expected: Turns, mode: str, how: str, over: Any) -> str:
    """Return why the two differ; an empty text where no known reason explains it."""
    if ours == "na":
        return "no call was made"
    if ours == "uncertain":
        return "values only look equal"
    wanted = ours == "pass"
    if mode == "strict" and len(flat(made)) == len(flat(expected)):
        expected = regrouped(expected, made)
        if peer(made, expected, mode, how, over) is wanted:
            return "turns are cut differently"
    if straightened(made, expected, mode, how, over) is wanted:
        return "argument modes are swapped"
    made, expected = retyped(made), retyped(expected)
    if straightened(made, expected, mode, how, over) is wanted:
        return "true equals 1"
    if wanted and _pairs_in_another_order(made, expected, mode, how, over):
        return "first come, first served"
    return ""


def _pairs_in_another_order(
    made: Turns, expected: Turns, mode: str, how: str, over: dict[str, str]
) -> bool:
    """Whether the peer agrees once the calls are listed in another order, tool by tool."""
    if mode == "strict":
        parts = [([turn], [wanted]) for turn, wanted in zip(made, expected, strict=True)]
        modes: tuple[str, ...] = ("superset",)
    else:
        parts = [([flat(made)], [flat(expected)])]
        modes = ("subset", "superset") if mode == "unordered" else (mode,)
    return all(
        any(straightened([list(p)], [wanted], m, how, over) for p in permutations(calls))
        for turn, reference in parts
        for name in TOOLS
        for m in modes
        for calls, wanted in [(_of(name, turn), _of(name, reference))]
    )


def _of(name: str, turns: Turns) -> list[Call]:
    return [call for call in flat(turns) if call[0] == name]


def main(arguments: Sequence[str]) -> int:
    size = int(arguments[0]) if arguments else 1_000
    rng = random.Random(int(arguments[1]) if len(arguments) > 1 else 7)
    same: Counter[str] = Counter()
    total: Counter[str] = Counter()
    reasons: Counter[str] = Counter()
    for _ in range(size):
        expected = reference(rng)
        made = changed(expected, rng)
        trace = as_trace(made)
        over = {OVERRIDDEN: rng.choice(ARGUMENTS)} if rng.random() < 0.3 else {}
        for mode in MODES:
            for how in ARGUMENTS:
                ours = helix(trace, expected, mode, how, over)
                theirs = peer(made, expected, mode, how, over)
                total[mode] += 1
                if (ours == "pass") is theirs and ours in ("pass", "fail"):
                    same[mode] += 1
                    continue
                why = reason(ours, made, expected, mode, how, over)
                reasons[why or "UNEXPLAINED"] += 1
                if not why:
                    print(f"unexplained: {mode} {how} {over} {ours} {made} {expected}")
    for mode in MODES:
        print(f"{mode:<10}{same[mode]:>6} of {total[mode]} the same")
    for why, count in reasons.most_common():
        print(f"{count:>6} differ: {why}")
    return 1 if reasons["UNEXPLAINED"] else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
