"""Every place where two runs differ after masking, places of one kind taken together.

Lines are held against the lines of the same trace: lines in another order differ in their order
and in nothing else. `diff_runs` counts places by line number; this is what findings are made of.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from helix.audit.diff import pieces
from helix.audit.masking import COMPARED, masked_value
from helix.audit.parting import Steps, parts, read
from helix.fieldpath import EACH, MISSING, Step, render_steps
from helix.model.audited import Kind

SAMPLES: Final = 50
_KEYS: Final = ("id", "trajectoryId", "traceId", "trace")
_JUDGED_PARTS: Final = ("understanding", "expectedTrajectory", "judgeSteps", "localize")
Key = tuple[str, str, Kind, bool]


@dataclass(slots=True)
class Group:
    """The differences of one artifact at one path; `judged` are those that a judge's words make.

    `samples` are (value, value) of the first of them, MISSING for none.
    """

    artifact: str
    path: str
    kind: Kind
    judged: bool
    count: int = 0
    line: int | None = None
    samples: list[tuple[Any, Any]] = field(default_factory=list)

    @property
    def key(self) -> Key:
        """What the same differences of another pair of runs are found by."""
        return self.artifact, self.path, self.kind, self.judged


@dataclass(frozen=True, slots=True)
class _Found:
    steps: Steps
    kind: Kind
    a: Any
    b: Any
    judged: bool = False


def differing(a: Path, b: Path) -> dict[Key, Group]:
    """Return where two runs differ, in the order of artifacts and of paths as they are met.

    ArtifactError for a file that cannot be read, or cannot be masked, not being JSON.
    """
    groups: dict[Key, Group] = {}
    for artifact in COMPARED:
        for line, found in _of_artifact(artifact, a / artifact, b / artifact):
            steps: tuple[Step, ...] = tuple(
                EACH if isinstance(step, int) else step for step in found.steps
            )
            group = Group(artifact, render_steps(steps), found.kind, found.judged, line=line)
            group = groups.setdefault(group.key, group)
            group.count += 1
            if len(group.samples) < SAMPLES:
                group.samples.append((found.a, found.b))
    return groups


def _of_artifact(artifact: str, a: Path, b: Path) -> Iterator[tuple[int | None, _Found]]:
    there = (a.exists(), b.exists())
    if not all(there):
        one, two = ("written" if is_there else MISSING for is_there in there)
        if any(there):
            yield None, _Found((), "missing", one, two)
        return
    if not artifact.endswith(".jsonl"):
        texts = [_masked(artifact, data) for path in (a, b) for _, data in pieces(path)]
        yield from ((None, found) for found in _texts(*texts))
        return
    ones, twos = ([_masked(artifact, line) for _, line in pieces(path)] for path in (a, b))
    if ones != twos:
        yield from _lines(ones, twos)


def _lines(ones: Sequence[str], twos: Sequence[str]) -> Iterator[tuple[int | None, _Found]]:
    a, b = dict(_keyed(ones)), dict(_keyed(twos))
    common = [key for key in a if key in b]
    other = [key for key in b if key in a]
    if common != other:
        at = next(at for at, (x, y) in enumerate(zip(common, other, strict=True)) if x != y)
        line, _ = a[common[at]]
        yield line, _Found((), "order", common[at][0], other[at][0])
    for key in a:
        (line, one), (_, two) = a[key], b.get(key, (0, MISSING))
        if two is MISSING:
            yield line, _Found((), "missing", key[0], MISSING)
        elif one != two:
            yield from ((line, found) for found in _texts(one, two))
    for key in b:
        if key not in a:
            yield b[key][0], _Found((), "missing", MISSING, key[0])


def _keyed(lines: Iterable[str]) -> Iterator[tuple[tuple[str, int], tuple[int, Any]]]:
    """Yield each line by whose it is and how many of the same came before it."""
    seen: Counter[str] = Counter()
    for number, line in enumerate(lines, 1):
        key = _whose(line)
        yield (key, seen[key]), (number, line)
        seen[key] += 1


def _whose(line: str) -> str:
    try:
        found = json.loads(line)
    except (ValueError, RecursionError):
        return line
    names = (found[key] for key in _KEYS if key in found) if isinstance(found, dict) else ()
    return str(next(iter(names), line))


def _texts(one: str, two: str) -> Iterator[_Found]:
    """Yield where two texts differ; two spellings of the same values differ as a whole."""
    if one == two:
        return
    try:
        a, b = read(one), read(two)
        found = list(parts(a, b, sets=True))
    except (ValueError, RecursionError):
        found = []
    if not found:
        yield _Found((), "value", one, two)
        return
    judged = _judged_verdicts(a)
    for part in found:
        yield _Found(*part, _is_judged(part.steps, judged))


def _judged_verdicts(line: Any) -> dict[str | int, bool]:
    """Return which verdicts of a line a judge gave, by their index and by their criterion."""
    verdicts = line.get("verdicts") if isinstance(line, dict) else None
    found: dict[str | int, bool] = {}
    for number, verdict in enumerate(verdicts if isinstance(verdicts, list) else ()):
        if isinstance(verdict, dict):
            judged = verdict.get("producedBy", "judge") != "code"
            found |= {number: judged, str(verdict.get("criterionId")): judged}
    return found


def _is_judged(steps: Steps, verdicts: dict[str | int, bool]) -> bool:
    if not steps or not verdicts:
        return False
    if steps[0] in ("verdicts", "denseMap") and len(steps) > 1:
        return verdicts.get(steps[1], False)
    return steps[0] in _JUDGED_PARTS


def _masked(artifact: str, data: bytes) -> str:
    return masked_value(artifact, data, artifact).decode("utf-8", "surrogateescape")
