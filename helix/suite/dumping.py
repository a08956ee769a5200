"""A suite as a criteria file: what was read back says the same, whatever its texts hold."""

from __future__ import annotations

import re
from typing import Any

import yaml

from helix.model.criterion import Suite

_PLAIN = re.compile(r"[A-Za-z][A-Za-z0-9_.-]*")
_VALUES = frozenset(
    {"true", "false", "null", "yes", "no", "on", "off", "y", "n"}
)  # Texts that one YAML reader or another takes for something else.


class _Dumper(yaml.SafeDumper):
    """Writes every text in quotes, unless no reader could take it for anything else."""

    def ignore_aliases(self, data: Any) -> bool:
        return True


def _text(dumper: yaml.SafeDumper, text: str) -> yaml.Node:
    plain = _PLAIN.fullmatch(text) and text.casefold() not in _VALUES
    style = None if plain else '"'
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style=style)


_Dumper.add_representer(str, _text)


def suite_page(suite: Suite) -> bytes:
    """Return a suite as YAML, its rows in their order, what is left at its default left out."""
    value = suite.model_dump(mode="json", by_alias=True, exclude_defaults=True)
    rest = {name: value[name] for name in value if name != "criteria"}
    page = yaml.dump(
        {**rest, "version": suite.version, "criteria": value["criteria"]},
        Dumper=_Dumper,
        sort_keys=False,
        allow_unicode=True,
        width=1 << 20,
    )
    return str(page).encode("utf-8")
