"""A suite as a criteria file: what was read back says the same, whatever its texts hold."""

from __future__ import annotations

import json
import re
from typing import Any

import yaml

from helix.model.criterion import Criterion, Suite

_PLAIN = re.compile(r"[A-Za-z][A-Za-z0-9_.-]*")
VALUES = frozenset(
    {"true", "false", "null", "yes", "no", "on", "off", "y", "n"}
)  # Texts that one YAML reader or another takes for something else.


class _Dumper(yaml.SafeDumper):
    """Writes every text in quotes, unless no reader could take it for anything else."""

    def ignore_aliases(self, data: Any) -> bool:
        return True


def _text(dumper: yaml.SafeDumper, text: str) -> yaml.Node:
    plain = _PLAIN.fullmatch(text) and text.casefold() not in VALUES
    style = None if plain else '"'
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style=style)


_Dumper.add_representer(str, _text)


def suite_page(suite: Suite) -> bytes:
    """Return a suite as YAML, its rows in their order, what is left at its default left out."""
    return _yaml({**_head(suite), "criteria": [_row(row) for row in suite.criteria]}).encode(
        "utf-8"
    )


def rows_page(suite: Suite) -> bytes:
    """Return a suite as YAML with one row on a line, and under it a comment that names it.

    git then merges the rows that two people add or change, and never mixes two of them: between
    any two changes stands a line that neither has touched.
    """
    lines = [_yaml(_head(suite)), "criteria:\n" if suite.criteria else "criteria: []\n"]
    for row in suite.criteria:
        lines.append(f"- {_yaml(_row(row), flow=True)}# end of {json.dumps(row.criterion_id)}\n")
    return "".join(lines).encode("utf-8")


def row_page(row: Criterion) -> str:
    """Return one row as YAML, what is left at its default left out."""
    return _yaml(_row(row))


def _head(suite: Suite) -> dict[str, Any]:
    value = suite.model_dump(mode="json", by_alias=True, exclude_defaults=True)
    return {**{k: value[k] for k in value if k != "criteria"}, "version": suite.version}


def _row(row: Criterion) -> dict[str, Any]:
    return row.model_dump(mode="json", by_alias=True, exclude_defaults=True)


def _yaml(value: Any, *, flow: bool = False) -> str:
    return str(
        yaml.dump(
            value,
            Dumper=_Dumper,
            sort_keys=False,
            allow_unicode=True,
            width=1 << 30,
            default_flow_style=flow,
        )
    )
