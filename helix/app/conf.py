"""Where the configuration files are, and what they say of the keys."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from helix.errors import HelixError

PACKAGE = Path(__file__).resolve().parents[1]
_SECTION = re.compile(r"([a-z_]+):(?: +&[a-z]+)?$")
_SUBSECTION = re.compile(r"  ([a-z_]+):$")
_KEY = re.compile(r"  (  )?([a-z_]+): (.+?) +# (.+)")


def conf_dir(package: Path = PACKAGE) -> Path:
    """Return the folder conf/: inside an installed package, beside it in a checkout."""
    for folder in (package / "conf", package.parent / "conf"):
        if (folder / "base.yaml").is_file():
            return folder
    raise HelixError(f"the folder conf/ is neither in nor beside {package}; install Helix again")


def groups() -> dict[str, list[str]]:
    """Return the options of every config group by its name, both sorted."""
    return {
        folder.name: sorted(path.stem for path in folder.glob("*.yaml"))
        for folder in sorted(conf_dir().iterdir())
        if folder.is_dir()
    }


@dataclass(frozen=True, slots=True)
class Remark:
    """A key, its default as YAML, and the line that explains it."""

    key: str
    default: str
    text: str


def remarks() -> Iterator[Remark]:
    """Yield every key that base.yaml explains, in its order."""
    section = subsection = ""
    for line in (conf_dir() / "base.yaml").read_text(encoding="utf-8").splitlines():
        if found := _SECTION.fullmatch(line):
            section = found[1]
        elif found := _SUBSECTION.fullmatch(line):
            subsection = found[1]
        elif found := _KEY.fullmatch(line):
            inner = f"{subsection}." if found[1] else ""
            yield Remark(f"{section}.{inner}{found[2]}", found[3], found[4])
