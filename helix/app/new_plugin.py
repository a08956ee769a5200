"""`helix plugins new`: a copy of plugins/helix-example under a name of its own.

The example is the template, so that there is no second one that could age. It is carried in the
wheel; in a checkout it stands where it is developed.
"""

from __future__ import annotations

import argparse
import re
import shlex
import shutil
from collections.abc import Iterator, Sequence
from pathlib import Path

from helix.app import console
from helix.app.conf import PACKAGE, groups
from helix.app.plugins import registry
from helix.errors import ExitCode, HelixError, UsageError
from helix.registry.hookspecs import KINDS

CARRIED = "example_plugin"
PARTS = ("pyproject.toml", "README.md", "src", "tests")
SUFFIXES = (".jsonl", ".md", ".py", ".toml", ".yaml")
LONGEST = 40
# `helix-evals` is Helix itself, the next three are plugins beside it; `new` is this command's word.
RESERVED = frozenset({"evals", "dask", "example", "redis", "new"})
_NAME = re.compile(r"[a-z][a-z0-9]*(-[a-z0-9]+)*")
_WORD = re.compile(r"(?<![A-Za-z])example(?![A-Za-z])")
_PART = re.compile(r"(?<=_)example(?![A-Za-z])|(?<![A-Za-z])example(?=_)")


def run(argv: Sequence[str]) -> ExitCode:
    """Write the copy, and say what to type next.

    Exits 0, or 2 for a name that cannot be, or a folder that is there.
    """
    parser = argparse.ArgumentParser(
        prog="helix plugins new",
        description="Write a package that adds to Helix a check, a judge, a report, a trace "
        "format and a config group: a copy of plugins/helix-example, named helix-NAME, that "
        "installs and passes its tests as it is. Change what you need and delete the rest. Exits "
        "0, or 2 for a name that cannot be or a folder that is there.",
    )
    parser.add_argument(
        "name", metavar="NAME", help="small letters and digits, parted by hyphens: my-desk"
    )
    parser.add_argument(
        "--out", metavar="DIR", default=".", help="where the folder helix-NAME is made; default ."
    )
    parser.add_argument("--json", action="store_true", help="print JSON")
    args = parser.parse_args(argv)
    refuse(args.name)
    folder = copied(template(), args.name, Path(args.out))
    if args.json:
        files = sorted(p.relative_to(folder).as_posix() for p in folder.rglob("*") if p.is_file())
        console.say_json({"folder": str(folder), "files": files})
    else:
        console.say("\n".join(_told(args.name, folder)))
    return ExitCode.PASS


def refuse(name: str) -> None:
    """Raise UsageError for a name that a plugin cannot have, or whose items exist already."""
    if not _NAME.fullmatch(name) or len(name) > LONGEST:
        raise UsageError(
            f"NAME must be small letters and digits, parted by hyphens, at most {LONGEST} "
            f"characters (got {name!r:.80}): helix plugins new my-desk"
        )
    found = registry()
    taken = {n for kind in KINDS for n in found.items(kind)} | found.plugins.keys() | RESERVED
    if name in taken.union(*groups().values()):
        raise UsageError(f"NAME must be new (got {name}, which Helix or a plugin already has)")


def copied(source: Path, name: str, out: Path) -> Path:
    """Copy the example into a new folder below `out`, and return that; UsageError where it is.

    What breaks off in the middle leaves nothing.
    """
    folder = out / f"helix-{name}"
    try:
        out.mkdir(parents=True, exist_ok=True)
        folder.mkdir()
    except FileExistsError:
        raise UsageError(f"{folder} is there already; choose another NAME or --out") from None
    except OSError as error:
        raise UsageError(f"--out: {out} cannot be written: {error.strerror}") from None
    try:
        _fill(source, folder, name)
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise
    return folder


def _fill(source: Path, folder: Path, name: str) -> None:
    for file in _files(source):
        target = folder / renamed(file.relative_to(source).as_posix(), name)
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(renamed(file.read_text(encoding="utf-8"), name), encoding="utf-8")


def template(package: Path = PACKAGE) -> Path:
    """Return the folder of the example: inside an installed package, beside it in a checkout."""
    for folder in (package / CARRIED, package.parent / "plugins" / "helix-example"):
        if (folder / "pyproject.toml").is_file():
            return folder
    raise HelixError(f"the example plugin is neither in nor beside {package}; install Helix again")


def renamed(text: str, name: str) -> str:
    """Put a name where `example` stands, with `_` for `-` where it is part of an identifier."""
    return _WORD.sub(name, _PART.sub(name.replace("-", "_"), text))


def _files(source: Path) -> Iterator[Path]:
    for part in PARTS:
        own = source / part
        for file in sorted(own.rglob("*") if own.is_dir() else [own]):
            if file.suffix in SUFFIXES and file.is_file():
                yield file


def _told(name: str, folder: Path) -> Iterator[str]:
    yield f"{folder} is a plugin: a check, a judge, a report, a trace format, a config group."
    yield ""
    yield f"  cd {shlex.quote(str(folder))}"
    yield "  pip install -e '.[test]'"
    yield "  python -m pytest"
    yield f"  helix plugins {name}-brevity"
    yield ""
    yield "Its README.md says what stands where. Change what you need and delete the rest."
