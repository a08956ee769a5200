"""The conformance suite of report renderers."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path, PurePath
from typing import Any

from helix.audit.masking import COMPARED
from helix.discover import discover
from helix.errors import ConfigError
from helix.evaluate import Finished
from helix.registry import Renderer, load
from helix.registry.leaf import Leaf
from helix.reports.discovery_again import discovery_again
from helix.reports.run import compose
from helix.reports.stream import stream
from helix.runs import RunFiles
from helix.testing import sample
from helix.testing.contract import require, require_item

_PLAIN = re.compile(r"[\w-][\w.-]*")
_KEPT = frozenset({*COMPARED, "runmeta.json", "events.jsonl", "tests.json"})
_Render = Callable[[Any], bytes | Iterable[bytes | Leaf]]
_Parts = tuple[bytes, tuple[Leaf, ...]]


def renderer_conforms(item: Renderer) -> None:
    """Require that a report is made of any run, is the same each time, and lets no text act.

    It is tried on a small run whose ids and texts hold an escape sequence and a script, and on a
    run without traces; with `discovery`, on what discover finds in the same traces.
    """
    who = require_item("renderers", item)
    name = item.filename
    require(
        name is None or _PLAIN.fullmatch(name),
        f"{who}: filename must be a plain file name, or None for standard output (got {name!r})",
    )
    require(name not in _KEPT, f"{who}: {name} is a file of the run itself")
    if item.ready is not None:
        try:
            item.ready()
        except ConfigError as error:
            raise AssertionError(f"{who} is not ready here: {error}") from None
    with sample.folder() as scratch:
        for empty in (True, False):
            sample.written(scratch, empty=empty)
            done = sample.small_run(scratch, f"run-{empty}", load([]))
            which = "a run without traces" if empty else "a small run"
            _renders(f"{who}, given {which},", item, item.render, partial(_given, item, done))
        if item.discovery is not None:
            told = f"{who}, given a discovery,"
            _renders(told, item, item.discovery, partial(_discovered, scratch))


def _renders(told: str, item: Renderer, render: _Render, given: Callable[[], Any]) -> None:
    first, again = _made(told, render, given()), _made(told, render, given())
    require(first == again, f"{told} makes another report the second time")
    body, leaves = first
    require(
        not leaves or item.filename is not None,
        f"{told} must print one text, without files beside it",
    )
    strange = [leaf.name for leaf in leaves if not _PLAIN.fullmatch(leaf.name)]
    require(not strange, f"{told} makes files whose names are not plain ({strange})")
    for data in (body, *(leaf.data for leaf in leaves)):
        _is_harmless(told, item, data)


def _given(item: Renderer, done: Finished) -> Any:
    """Return the run as the renderer takes it: read trace by trace, or whole."""
    files = RunFiles(done.run_dir)
    suite, manifest = done.criteria, tuple(files.manifest())
    if item.stream:
        return stream(
            done.scorecard, done.verdicts, suite=suite, manifest=manifest, originals=done.traces
        )
    return compose(done.scorecard, done.verdicts(), suite=suite, manifest=manifest)


def _discovered(scratch: Path) -> Any:
    """Return what code alone finds in the sample, as renderers are shown it."""
    folder = scratch / "discovery"
    if not folder.exists():
        told = sample.config(scratch, judge={"backend": "none"}, discover={"living": False})
        discover(told, run_dir=folder, now=sample.NOW, registry=load([]))
    return discovery_again(folder, load([])).report


def _made(told: str, render: _Render, given: Any) -> _Parts:
    try:
        made = render(given)
        parts = [made] if isinstance(made, bytes) else list(made)
    except Exception as error:
        raise AssertionError(f"{told} raises {type(error).__name__}: {error}") from error
    for part in parts:
        require(
            isinstance(part, bytes | Leaf),
            f"{told} must return or yield bytes (got {type(part).__name__})",
        )
    body = b"".join(part for part in parts if isinstance(part, bytes))
    return body, tuple(part for part in parts if isinstance(part, Leaf))


def _is_harmless(told: str, item: Renderer, data: bytes) -> None:
    suffix = PurePath(item.filename or "out.txt").suffix
    if suffix in (".html", ".htm", ".svg", ".md"):
        require(
            sample.SCRIPT.encode() not in data,
            f"{told} shows a script of a trace as it is: escape what traces hold",
        )
    if suffix in (".html", ".htm", ".txt", ".md"):
        require(
            sample.ESCAPE.encode() not in data,
            f"{told} shows an escape sequence of a trace as it is: use "
            "helix.reports.visible.visible",
        )
