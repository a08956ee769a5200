"""Under which conditions an execution runs, and what becomes of them when one is varied.

What an execution may depend on without saying so is set in all of them, and changed in those that
vary it: the first hash seed is 0, the time zone UTC, the locale C.UTF-8.
"""

from __future__ import annotations

import dataclasses
import os
import platform
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

LISTING: Final = Path(__file__).parent / "listing"
_SET: Final = {"PYTHONHASHSEED": "0", "TZ": "UTC0", "LC_ALL": "C.UTF-8"}
_UNSET: Final = ("PYTHONUTF8", "PYTHONCOERCECLOCALE", "LANGUAGE")
_CHANGED: Final[Mapping[str, Mapping[str, str]]] = {
    "time-zone": {"TZ": "<+14>-14"},
    # Without UTF-8 mode, which would hide that a file is written in the locale's encoding.
    "locale": {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"},
}
TOLD: Final[Mapping[str, str]] = {
    "hash-seed": "another hash seed (PYTHONHASHSEED)",
    "time-zone": "another time zone (TZ, UTC+14)",
    "locale": "another locale (LC_ALL=C, without UTF-8)",
    "directory": "another working directory",
    "order": "folders listed backwards",
    "concurrency": "another concurrency",
}


@dataclass(frozen=True, slots=True)
class Conditions:
    """What one execution is called, what varies in it, which interpreter and executor it has.

    `version` is that of the interpreter `python`.
    """

    name: str
    varied: tuple[str, ...] = ()
    seed: int = 1
    python: str = sys.executable
    version: str = platform.python_version()
    executor: str | None = None

    def environment(self, own: Mapping[str, str] = os.environ) -> dict[str, str]:
        """Return the environment of the execution, made of one's own."""
        found = {name: value for name, value in own.items() if name not in _UNSET} | _SET
        for condition in self.varied:
            found |= _CHANGED.get(condition, {})
        if "hash-seed" in self.varied:
            found["PYTHONHASHSEED"] = str(self.seed)
        if "order" in self.varied:
            behind = found.get("PYTHONPATH")
            found["PYTHONPATH"] = os.pathsep.join(filter(None, (str(LISTING), behind)))
        return found


@dataclass(frozen=True, slots=True)
class Program:
    """The words of what is audited, `{out}` for the place of the run directory among them.

    `{python}`, `{concurrency}` and `{executor}` stand for what an execution may vary.
    `concurrency` and `executor` are those of the first execution.
    """

    words: tuple[str, ...]
    concurrency: int = 8
    executor: str = "local"
    helix: bool = False

    def takes(self, name: str) -> bool:
        """Whether `{name}` stands in the words."""
        return any(f"{{{name}}}" in word for word in self.words)

    def filled(self, conditions: Conditions, out: Path) -> list[str]:
        """Return the words of an execution."""
        varies = "concurrency" in conditions.varied
        values = {
            "{out}": str(out),
            "{python}": conditions.python,
            "{concurrency}": str(_other(self.concurrency) if varies else self.concurrency),
            "{executor}": conditions.executor or self.executor,
        }
        return [_replaced(word, values) for word in self.words]


def singly(conditions: Conditions) -> list[Conditions]:
    """Return conditions that each vary one thing of what these vary together."""
    return [
        dataclasses.replace(conditions, name=f"{name} alone", varied=(name,))
        for name in conditions.varied
    ]


def _other(concurrency: int) -> int:
    return 1 if concurrency > 1 else 8


def _replaced(word: str, values: Mapping[str, str]) -> str:
    for name, value in values.items():
        word = word.replace(name, value)
    return word
