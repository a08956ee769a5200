"""Synthetic tuples: every combination of values, or the fewest that show every pair together."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Final, Literal

from helix.errors import ConfigError
from helix.model.canonical import digest
from helix.model.dataset import TaskTemplate
from helix.model.splits import split_of

MOST: Final = 2000
INSTRUCTION: Final = (
    "Write what somebody of these dimensions asks of the agent, in their own words, and put it "
    "into `prompt`; say in `expected` how it should end. Run the agent on it once, and record the "
    "run with this task's id as the trace's id."
)
Tuple = tuple[str, ...]
Pair = tuple[int, str, int, str]


def templates(
    dimensions: Mapping[str, Sequence[str]],
    combine: Literal["all", "pairwise"],
    seed: int,
    before: Iterable[TaskTemplate] = (),
) -> list[TaskTemplate]:
    """Return the tasks that are new, in the order of their ids; those of before stay as they are.

    Pairs that a task of before shows need no new one. ConfigError for values that make no tuple.
    """
    if not dimensions:
        return []
    names = sorted(dimensions)
    have = {task.id for task in before}
    shown = [
        tuple(task.dimensions[name] for name in names)
        for task in before
        if set(task.dimensions) == set(names)
    ]
    found = tuples([dimensions[name] for name in names], combine, seed, names, shown)
    made = [_template(dict(zip(names, values, strict=True)), seed) for values in found]
    return sorted((task for task in made if task.id not in have), key=lambda task: task.id)


def tuples(
    values: Sequence[Sequence[str]],
    combine: Literal["all", "pairwise"],
    seed: int,
    names: Sequence[str] = (),
    shown: Sequence[Tuple] = (),
) -> list[Tuple]:
    """Return all tuples, or a seeded few in which every pair of values stands together.

    `shown` are tuples that there are: with pairwise, what they show is not asked for again.
    """
    _check(values, names or [str(n) for n in range(len(values))])
    if combine == "all" or len(values) < 3:
        if (count := math.prod(map(len, values))) > MOST:
            raise ConfigError(
                f"dataset.dimensions must make at most {MOST:,} tuples (got {count:,}); "
                "dataset.combine=pairwise makes fewer"
            )
        return list(itertools.product(*values))
    return _pairwise(values, seed, shown)


def _pairwise(values: Sequence[Sequence[str]], seed: int, shown: Sequence[Tuple]) -> list[Tuple]:
    """Cover every pair greedily: begin with an open pair, then take what covers most."""
    every = [
        (a, x, b, y)
        for a, b in itertools.combinations(range(len(values)), 2)
        for x in values[a]
        for y in values[b]
    ]
    if len(every) > MOST * 10:
        raise ConfigError(
            f"dataset.dimensions must make at most {MOST * 10:,} pairs (got {len(every):,})"
        )
    every.sort(key=lambda pair: digest([seed, *pair]))
    done = {pair for one in shown for pair in _pairs(one)}
    found: list[Tuple] = []
    for pair in every:
        if pair not in done:
            made = _completed(pair, values, done, seed)
            done.update(_pairs(made))
            found.append(made)
    return found


def _completed(pair: Pair, values: Sequence[Sequence[str]], done: set[Pair], seed: int) -> Tuple:
    """Return a tuple that holds a pair, each further value chosen for the open pairs it closes."""
    chosen = {pair[0]: pair[1], pair[2]: pair[3]}
    for at in range(len(values)):
        if at in chosen:
            continue
        closes = {
            value: sum(_ordered(a, x, at, value) not in done for a, x in chosen.items())
            for value in values[at]
        }
        most = max(closes.values())
        best = [value for value in values[at] if closes[value] == most]
        chosen[at] = min(best, key=lambda value: digest([seed, *pair, value]))
    return tuple(chosen[at] for at in range(len(values)))


def _pairs(one: Tuple) -> Iterable[Pair]:
    for (a, x), (b, y) in itertools.combinations(enumerate(one), 2):
        yield a, x, b, y


def _ordered(a: int, x: str, b: int, y: str) -> Pair:
    return (a, x, b, y) if a < b else (b, y, a, x)


def _check(values: Sequence[Sequence[str]], names: Sequence[str]) -> None:
    for name, choices in zip(names, values, strict=True):
        wrong = None
        if not choices or not all(choice.strip() for choice in choices):
            wrong = f"must list values that say something (got {list(choices)!r})"
        elif len(set(choices)) < len(choices):
            wrong = f"must list each value once (got {list(choices)!r})"
        if wrong:
            raise ConfigError(f"dataset.dimensions.{name} {wrong}")


def _template(dimensions: dict[str, str], seed: int) -> TaskTemplate:
    name = f"task-{digest(dimensions)[:16]}"
    return TaskTemplate(
        id=name, split=split_of(name, seed), dimensions=dimensions, instruction=INSTRUCTION
    )
