"""Where the configuration files are, and what they say of the keys."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from helix.errors import HelixError

PACKAGE = Path(__file__).resolve().parents[1]
_SECTION = re.compile(r"([a-z_]+):(?: +&[a-z]+)?$")
_KEY = re.compile(r"  ([a-z_]+): .*?  ?# (.+)")
_SUBKEY = re.compile(r"    ([a-z_]+): .*?  ?# (.+)")
_SUBSECTION = re.compile(r"  ([a-z_]+):$")


def conf_dir() -> Path:
    """Return the folder conf/: inside an installed package, beside it in a checkout."""
    for folder in (PACKAGE / "conf", PACKAGE.parent / "conf"):
        if (folder / "base.yaml").is_file():
            return folder
    raise HelixError(f"the folder conf/ is neither in nor beside {PACKAGE}; install Helix again")


def groups() -> dict[str, list[str]]:
    """Return the options of every config group by its name, both sorted."""
    return {
        folder.name: sorted(path.stem for path in folder.glob("*.yaml"))
        for folder in sorted(conf_dir().iterdir())
        if folder.is_dir()
    }


def remarks() -> Iterator[tuple[str, str]]:
    """Yield every key that base.yaml explains, in its order, with the explanation."""
    section = ""
    for line in (conf_dir() / "base.yaml").read_text(encoding="utf-8").splitlines():
        if found := _SECTION.fullmatch(line):
            section = top = found[1]
        elif found := _SUBSECTION.fullmatch(line):
            section = f"{top}.{found[1]}"
        elif found := _KEY.fullmatch(line):
            section = top
            yield f"{section}.{found[1]}", found[2]
        elif found := _SUBKEY.fullmatch(line):
            yield f"{section}.{found[1]}", found[2]
