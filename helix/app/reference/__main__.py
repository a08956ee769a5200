"""`python -m helix.app.reference [--check] [FOLDER]`: write the reference pages."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from helix.app.reference import pages
from helix.files import atomic_write

FOLDER = Path(__file__).resolve().parents[3] / "docs" / "reference"


def run(argv: list[str] | None = None) -> int:
    """Write every page, or with `--check` name those that differ and return 1."""
    parser = argparse.ArgumentParser(prog="python -m helix.app.reference")
    parser.add_argument("folder", type=Path, nargs="?", default=FOLDER)
    parser.add_argument("--check", action="store_true", help="write nothing; say what differs")
    args = parser.parse_args(argv)
    made = pages()
    there = {path.name for path in args.folder.glob("*.md")}
    for name in sorted(there - set(made)):
        print(f"{name} is no page of the reference", file=sys.stderr)
    if not args.check:
        args.folder.mkdir(parents=True, exist_ok=True)
        for name, text in made.items():
            atomic_write(args.folder / name, text.encode("utf-8"))
        return 0
    differ = [name for name, text in made.items() if _text(args.folder / name) != text]
    for name in differ:
        print(f"{name} differs: type `make reference`", file=sys.stderr)
    return 1 if differ or there - set(made) else 0


def _text(path: Path) -> str | None:
    return path.read_text(encoding="utf-8") if path.exists() else None


if __name__ == "__main__":
    sys.exit(run())
