"""Writing files: atomically, under a root, with names that no id can choose (METHOD 83)."""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
import secrets
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import BinaryIO

from helix.errors import UsageError

_SLUG_CHARACTERS = 48
_DIGEST_CHARACTERS = 16
_MADE = "made-by-helix.txt"
_MADE_SAYS = "The pages of {}, which stands beside this folder. Made anew with each report.\n"
_IGNORED = b"# Made by Helix: what lies here is of this machine.\n*\n"
_PART = re.compile(r"\..+\.[0-9a-f]{12}\.tmp", re.DOTALL)


@contextlib.contextmanager
def atomic_writer(path: str | os.PathLike[str]) -> Iterator[BinaryIO]:
    """Give a binary file that takes the place of `path` when the block ends without an error.

    The folder must exist. A reader sees the old file or the new one, never a part of it.
    """
    target = Path(path)
    part = _part(target)
    try:
        with open(part, "xb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        os.replace(part, target)
    except BaseException:
        part.unlink(missing_ok=True)
        raise


def atomic_write(path: str | os.PathLike[str], data: bytes) -> None:
    """Write a whole file at once; its folder must exist."""
    with atomic_writer(path) as file:
        file.write(data)


@contextlib.contextmanager
def atomic_folder(report: str | os.PathLike[str]) -> Iterator[Callable[[str, bytes], None]]:
    """Give a function that puts named files into the folder beside a report, named as it is.

    The folder takes its place as a whole, when the block ends without an error; where nothing was
    put, one that an earlier call left for the same report is removed. UsageError where something
    else is in the way.
    """
    target, mark = beside(report), _MADE_SAYS.format(Path(report).name)
    part, old = _part(target), _part(target)

    def put(name: str, data: bytes) -> None:
        if name in ("", ".", "..") or Path(name).name != name:
            raise ValueError(f"a file of a folder must have a plain name (got {name!r})")
        if not part.exists():
            if os.path.lexists(target) and not _is_made(target, mark):
                raise UsageError(
                    f"{target} must be free for the pages of a report (got something else's): "
                    "move it away, or name another file for the report"
                )
            part.mkdir()
            (part / _MADE).write_text(mark, encoding="utf-8")
        (part / name).write_bytes(data)

    try:
        yield put
        if _is_made(target, mark):
            os.replace(target, old)
        if part.exists():
            os.replace(part, target)
    finally:
        for folder in (part, old):
            shutil.rmtree(folder, ignore_errors=True)


@contextlib.contextmanager
def scratch(folder: Path) -> Iterator[Path]:
    """Give a path in a held folder for a file that is gone when the block ends.

    One that a killed process left is cleared as a part is, by `clear_parts`.
    """
    path = _part(folder / "scratch")
    try:
        yield path
    finally:
        path.unlink(missing_ok=True)


def beside(report: str | os.PathLike[str]) -> Path:
    """Return where the folder of a report of many files stands."""
    return Path(report).with_suffix("")


def clear_folder(report: Path) -> None:
    """Remove the folder that `atomic_folder` made beside a report; anything else is left."""
    if has_folder(report):
        shutil.rmtree(beside(report))


def has_folder(report: Path) -> bool:
    """Whether the folder beside a report is one that `atomic_folder` made for it."""
    return _is_made(beside(report), _MADE_SAYS.format(report.name))


def _is_made(folder: Path, mark: str) -> bool:
    """Whether a folder is one that was made for a report; a link to one is not."""
    if folder.is_symlink():
        return False
    try:
        return (folder / _MADE).read_text(encoding="utf-8") == mark
    except (OSError, UnicodeError):
        return False


def _part(target: Path) -> Path:
    return target.with_name(f".{target.name[:100]}.{secrets.token_hex(6)}.tmp")


def clear_parts(folder: Path) -> None:
    """Remove what killed writers left half made in a folder; it must be held, or they still write.

    Only names that `atomic_writer` and `atomic_folder` give are touched.
    """
    for part in folder.glob(".*.tmp"):
        if not _PART.fullmatch(part.name):
            continue
        if part.is_dir() and not part.is_symlink():
            shutil.rmtree(part, ignore_errors=True)
        else:
            part.unlink(missing_ok=True)


@contextlib.contextmanager
def held(
    folder: str | os.PathLike[str],
    what: str = "run directory",
    otherwise: str = "name another folder with hydra.run.dir=FOLDER",
) -> Iterator[None]:
    """Make a folder and hold it for this process until the block ends.

    UsageError where it cannot be made, or another process holds it: two runs that write to one
    folder would mix their lines. Where a file system or platform has no locks, nothing is held.
    `what` the folder is and what to do `otherwise` stand in the message.
    """
    try:
        Path(folder).mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UsageError(
            f"the {what} {os.fspath(folder)} cannot be made: {error.strerror}; {otherwise}"
        ) from error
    try:
        import fcntl
    except ImportError:
        yield
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(handle)
        raise UsageError(
            f"another run is writing to the {what} {os.fspath(folder)}: wait for it, or {otherwise}"
        ) from None
    except OSError:
        pass
    try:
        yield
    finally:
        os.close(handle)


def keep_out_of_git(folder: str | os.PathLike[str]) -> None:
    """Tell git to pass a folder over (DESIGN “A run directory”); where that fails, nothing is said.

    A .gitignore that is there already stays as it is.
    """
    mark = Path(folder) / ".gitignore"
    if not os.path.lexists(mark):
        with contextlib.suppress(OSError):
            atomic_write(mark, _IGNORED)


def is_file(path: str | os.PathLike[str]) -> bool:
    """Whether a text names a file; one that can be no path at all, as too long, names none."""
    try:
        return Path(path).is_file()
    except (OSError, ValueError):
        return False


def file_name(identifier: str) -> str:
    """Return a safe file name for any id: what is plain of it, and a digest of the whole.

    Equal ids have equal names; different ids have different ones, also where case is ignored.
    """
    data = identifier.encode("utf-8", "backslashreplace")
    plain = re.sub(r"[^A-Za-z0-9]+", "-", identifier)[:_SLUG_CHARACTERS].strip("-").lower()
    digest = hashlib.sha256(data).hexdigest()[:_DIGEST_CHARACTERS]
    return f"{plain}-{digest}" if plain else digest
