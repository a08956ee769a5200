"""The mechanisms by which executions part: what each is called, its root, its control, its cure.

The control vocabulary and the roots are those of METHOD 24; a root without a name there has none.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from helix.model.audited import Mechanism

DOMINANT: Final = frozenset({"RC-INGEST", "RC-ENV", "RC-LLM-PIN", "RC-RUNMETA"})
"""The roots for which a deviation of the agent is coupled to its twin (METHOD 68)."""


@dataclass(frozen=True, slots=True)
class Meaning:
    """How a gap makes two executions part, and what converts it into a reproducible path."""

    what: str
    cure: str
    root_cause: str | None
    control: str
    defect_class: str = "missing-determinism"


MEANINGS: Final[Mapping[Mechanism, Meaning]] = {
    "seed": Meaning(
        "under the same conditions it comes out differently: a seed that is not set, or a race",
        "set and record the seed; keep results in the order of the plan",
        "RC-SAMPLE", "C-PIN",
    ),
    "clock": Meaning(
        "the time at which it was executed stands in it",
        "leave the time out, or take it as a parameter that is recorded",
        "RC-RUNMETA", "C-PIN",
    ),
    "path": Meaning(
        "the path of the place where it was executed stands in it",
        "write paths relative to what was given",
        "RC-ENV", "C-PIN",
    ),
    "hash-order": Meaning(
        "it follows the hash seed of the interpreter: the order of a set, or hash()",
        "sort before writing",
        "RC-ENV", "C-SCRIPT",
    ),
    "listing-order": Meaning(
        "it follows the order in which a folder is listed",
        "sort what a folder lists",
        "RC-INGEST", "C-SCRIPT",
    ),
    "float-text": Meaning(
        "the same number is written with other last digits",
        "add up in a fixed order, and write numbers in a fixed form",
        "RC-SCHEMA", "C-SCHEMA", "schema-contract-gap",
    ),
    "locale": Meaning(
        "it follows the locale of the process: encoding, or the form of numbers and dates",
        "name encoding and form where files are read and written",
        "RC-ENV", "C-PIN",
    ),
    "time-zone": Meaning(
        "it follows the time zone of the process",
        "compute in UTC, or take the zone as a parameter",
        "RC-ENV", "C-PIN",
    ),
    "directory": Meaning(
        "it follows the folder in which the process runs",
        "take folders as parameters",
        "RC-ENV", "C-PIN",
    ),
    "concurrency": Meaning(
        "it follows how much runs at once: the order in which things are done",
        "write in the order of the plan",
        "RC-LATENCY", "C-SCRIPT",
    ),
    "interpreter": Meaning(
        "it follows the version of the interpreter",
        "pin the version, or write what does not depend on it",
        "RC-ENV", "C-PIN",
    ),
    "executor": Meaning(
        "it follows who carries the work out",
        "write in the order of the plan",
        "RC-CONFIG", "C-SCRIPT", "code-bug",
    ),
    "answer": Meaning(
        "under the same conditions the judge answers differently",
        "replay recorded replies, or share the reply cache",
        "RC-LLM-PIN", "C-PIN", "agent-discretion",
    ),
    "dropped-parameter": Meaning(
        "a parameter that was asked for did not take effect",
        "send every parameter of the pin, and end where it is refused",
        "RC-LLM-PIN", "C-PIN", "code-bug",
    ),
    "crash": Meaning(
        "it leaves no run under other conditions",
        "guard what only some conditions give",
        "RC-ENV", "C-GUARD", "code-bug",
    ),
    "specification": Meaning(
        "what is to be decided differs between the executions",
        "decide by one plan, and pin what it is made of",
        "RC-CONFIG", "C-SCHEMA", "schema-contract-gap",
    ),
    "together": Meaning(
        "it differs where several conditions vary together, and under none alone",
        "narrow it down with audit.vary",
        None, "C-PIN",
    ),
    "unexplained": Meaning(
        "finished runs say that it differs, and not why",
        "have the audit execute the command itself",
        None, "C-PIN",
    ),
}  # fmt: skip
BY_CONDITION: Final[Mapping[str, Mechanism]] = {
    "hash-seed": "hash-order",
    "time-zone": "time-zone",
    "locale": "locale",
    "directory": "directory",
    "order": "listing-order",
    "concurrency": "concurrency",
}
