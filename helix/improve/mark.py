"""What tells one state of the subject from another: a digest of its files (METHOD 75)."""

from __future__ import annotations

import glob
import hashlib
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from helix.errors import ConfigError
from helix.model.canonical import digest

ASIDE = frozenset({"__pycache__", ".git"})


def files_digest(patterns: Sequence[str], without: Iterable[Path]) -> str | None:
    """Return the digest of all files that the globs name, by path and content; None of no globs.

    What lies below the folders `without`, which Helix writes, is left out, as is what Python and
    git keep for themselves. A glob that names no file raises ConfigError.
    """
    if not patterns:
        return None
    folders = [folder.resolve() for folder in without]
    found: dict[str, str] = {}
    for pattern in patterns:
        files = list(_files(pattern, folders))
        if not files:
            raise ConfigError(f"improve.subject_files: '{pattern}' names no file")
        for file in files:
            found[file.as_posix()] = hashlib.sha256(file.read_bytes()).hexdigest()
    return digest(sorted(found.items()))


def _files(pattern: str, folders: Sequence[Path]) -> Iterator[Path]:
    for name in glob.iglob(pattern, recursive=True, include_hidden=True):
        file = Path(name)
        inside = any(file.resolve().is_relative_to(folder) for folder in folders)
        if file.is_file() and not inside and not ASIDE.intersection(file.parts):
            yield file
