"""Where each trace was read, looked up in the manifest instead of held beside it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Generic, TypeVar

from helix.model.manifest import Manifest, ManifestEntry, located

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class ByTrace(Mapping[str, T], Generic[T]):
    """What is known of each trace of a manifest, by its id."""

    manifest: Manifest
    known: Callable[[ManifestEntry], T]

    def __getitem__(self, trace: str) -> T:
        entry = self.manifest.find(trace)
        if entry is None:
            raise KeyError(trace)
        return self.known(entry)

    def __iter__(self) -> Iterator[str]:
        return (entry.id for entry in self.manifest)

    def __len__(self) -> int:
        return len(self.manifest)


@dataclass(frozen=True, slots=True)
class Selected:
    """The ids of the traces that were to be evaluated, in the plan's order."""

    manifest: Manifest

    def __iter__(self) -> Iterator[str]:
        return (entry.id for entry in self.manifest if entry.selected)


def placed(manifest: Manifest) -> tuple[str, Mapping[str, str]]:
    """Return the folder that all traces stand in, and below it each trace's file with its line."""
    folder = _folder({entry.file for entry in manifest})
    return folder, ByTrace(manifest, lambda entry: located(entry.file, entry.line)[len(folder) :])


def _folder(files: Iterable[str]) -> str:
    """Return the folder that all files stand in, with its final separator; empty for none."""
    files = sorted(files)
    folder = files[0] if files else ""
    while folder and not (folder[-1] in "/\\" and all(f.startswith(folder) for f in files)):
        folder = folder[:-1]
    return folder
