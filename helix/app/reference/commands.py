"""Every command's `--help`, at 80 columns."""

from __future__ import annotations

import contextlib
import io
import os
import re
from collections.abc import Iterator

from helix.app import cli
from helix.app.commands.report import BEHIND
from helix.app.manual import PAGES

_WORDS = re.compile(r"^  COMMAND\n((?: {4}.*\n)+)", re.M)
_WORD = re.compile(r"^ {4}([a-z-]+)(?: |$)", re.M)


def body() -> str:
    """Return a section for each command and each word that may stand behind one."""
    about = {**cli.HYDRA, **cli.PLAIN}
    return "\n\n".join(_section(name, about[name]) for name in sorted(about))


def _section(name: str, about: str) -> str:
    lines = [f"## helix {name}", "", f"{about[0].upper()}{about[1:]}.", ""]
    if name in PAGES:
        head, examples = PAGES[name]
        lines += [
            *_fenced(f"{head}\n{examples}"),
            "",
            "Its keys and groups: [configuration](configuration.md).",
        ]
    else:
        lines += _fenced(helped(name))
    for words in _below(name):
        lines += ["", f"### helix {' '.join(words)}", "", *_fenced(helped(*words))]
    return "\n".join(lines)


def _below(name: str) -> Iterator[tuple[str, ...]]:
    if name == "audit":
        yield from (("audit", word) for word in cli.AUDITS)
    elif name == "report":
        yield from (("report", word) for word in BEHIND)
    elif name == "plugins":
        yield ("plugins", "new")
    elif name in cli.PLAIN and (found := _WORDS.search(helped(name))):
        yield from ((name, word) for word in _WORD.findall(found[1]))


def helped(*words: str) -> str:
    """Return what `helix WORDS --help` prints."""
    told = io.StringIO()
    with _wide(), contextlib.redirect_stdout(told):
        cli.main([*words, "--help"])
    return told.getvalue().strip()


@contextlib.contextmanager
def _wide() -> Iterator[None]:
    """Let argparse print for 80 columns, whatever the terminal is."""
    before = os.environ.get("COLUMNS")
    os.environ["COLUMNS"] = "80"
    try:
        yield
    finally:
        if before is None:
            del os.environ["COLUMNS"]
        else:
            os.environ["COLUMNS"] = before


def _fenced(text: str) -> list[str]:
    return ["```text", text.strip(), "```"]
