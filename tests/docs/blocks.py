"""The fenced blocks of a page, what it types in them, and what it types in its sentences.

A block says by itself how it is held: by its language, by `title="FILE"`, and by a comment before
it, `<!-- exit: N -->` or `<!-- not run: REASON -->` (docs/decisions/0020).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

TYPED = ("sh", "console")
"""The languages in which a page types commands."""
_FENCE = re.compile(r"^(?P<indent> *)(?P<ticks>`{3,}|~{3,})(?P<info>.*)$")
_TITLE = re.compile(r"""title=(?:"([^"]*)"|'([^']*)')""")
_COMMENT = re.compile(r"^<!--\s*(.*?)\s*-->$")
_DIRECTIVE = re.compile(r"(exit|not run)\b\s*:?\s*(.*)")
_INLINE = re.compile(r"(?<!`)(`+)(?!`)((?:(?!\n\n).)+?)(?<!`)\1(?!`)", re.DOTALL)
_SCRIPT = re.compile(r"<<|^\s*(?:for|while|if|case) ", re.MULTILINE)
_COMMAND = re.compile(r"^\s*(?:[$>%] |.*&& )helix [a-z]", re.MULTILINE)
_ANY = "…"


class PageError(ValueError):
    """A block that does not say how it is held, with where it is."""


@dataclass(frozen=True, slots=True)
class Block:
    """One fenced block: `line` is its first line of text, `exit` the code of its last command."""

    page: str
    line: int
    language: str
    title: str | None
    text: str
    exit: int = 0
    not_run: str | None = None

    @property
    def where(self) -> str:
        return f"{self.page}:{self.line}"


@dataclass(frozen=True, slots=True)
class Command:
    """One command as typed, the code that it must exit with, and the lines shown below it."""

    where: str
    text: str
    exit: int
    shown: tuple[str, ...]
    not_run: str | None


def blocks(page: str, text: str) -> list[Block]:
    """Return the fenced blocks of a page; PageError for a block or comment that cannot be right."""
    found: list[Block] = []
    told: dict[str, str] = {}
    lines = iter(enumerate(text.splitlines(), 1))
    for number, line in lines:
        if opening := _FENCE.match(line):
            body = list(_body(page, number, opening, lines))
            found.append(_block(page, number, opening["info"].strip(), body, told))
            told = {}
        elif directive := _directive(page, number, line):
            told |= directive
        elif line.strip() and told:
            raise PageError(f"{page}:{number}: {next(iter(told))}: stands before no block")
    if told:
        raise PageError(f"{page}: {next(iter(told))}: stands before no block")
    return found


def commands(block: Block) -> list[Command]:
    """Return what a block of commands types, in order."""
    if block.language == "console":
        return _session(block)
    if _SCRIPT.search(block.text):
        return [Command(block.where, block.text, block.exit, (), block.not_run)]
    whole = list(_joined(block.line, block.text.splitlines()))
    typed = [(at, line) for at, line in whole if line and not line.startswith("#")]
    return [_command(block, at, line, (), at == typed[-1][0]) for at, line in typed]


def inline(text: str) -> list[tuple[int, str]]:
    """Return what stands in backticks in the sentences of a page, each on one line, with where."""
    prose = without_blocks(text)
    return [
        (prose.count("\n", 0, found.start()) + 1, " ".join(found[2].split()))
        for found in _INLINE.finditer(prose)
    ]


def shows(shown: tuple[str, ...], printed: str) -> bool:
    """Return whether lines are as shown; `…` is any text, and on a line of its own any lines."""
    pattern = "".join(
        r"(?:.*\n)*?" if line.strip() == _ANY
        else ".*?".join(map(re.escape, line.rstrip().split(_ANY))) + r"[ \t]*\n"
        for line in shown
    )  # fmt: skip
    return re.fullmatch(pattern, printed.rstrip("\n") + "\n") is not None


def without_blocks(text: str) -> str:
    """Return the page with its blocks as empty lines, so that lines keep their numbers."""
    kept, ticks = [], ""
    for line in text.splitlines():
        fence = _FENCE.match(line)
        if fence and not ticks:
            ticks = fence["ticks"]
        elif fence and fence["ticks"].startswith(ticks) and not fence["info"].strip():
            ticks = ""
        elif not ticks:
            kept.append(line)
            continue
        kept.append("")
    return "\n".join(kept)


def _body(
    page: str, number: int, opening: re.Match[str], lines: Iterator[tuple[int, str]]
) -> Iterator[str]:
    for _, line in lines:
        closing = _FENCE.match(line)
        if closing and closing["ticks"] + closing["info"].strip() == opening["ticks"]:
            return
        yield line.removeprefix(opening["indent"])
    raise PageError(f"{page}:{number}: the block has no end")


def _block(page: str, number: int, info: str, body: list[str], told: dict[str, str]) -> Block:
    where = f"{page}:{number}"
    language, _, rest = info.partition(" ")
    title = _TITLE.search(rest)
    text = "".join(f"{line}\n" for line in body)
    typed = language in TYPED
    if told and not typed:
        raise PageError(f"{where}: {next(iter(told))}: is for blocks of sh and console")
    shell = language in ("bash", "shell", "zsh")
    if shell or (language in ("", "text") and _COMMAND.search(text)):
        raise PageError(f"{where}: commands stand in a block of sh or console (got {language!r})")
    return Block(
        page, number + 1, language, (title[1] or title[2]) if title else None, text,
        int(told.get("exit", 0)), told.get("not run"),
    )  # fmt: skip


def _directive(page: str, number: int, line: str) -> dict[str, str]:
    comment = _COMMENT.match(line.strip())
    found = _DIRECTIVE.match(comment[1]) if comment else None
    if found is None:
        return {}
    name, value = found[1], found[2]
    if name == "exit" and not value.isdigit():
        raise PageError(f"{page}:{number}: exit must be a whole number (got {value!r})")
    if not value:
        raise PageError(f"{page}:{number}: not run must say why")
    return {name: value}


def _session(block: Block) -> list[Command]:
    """Return the commands behind `$`, each with the lines that stand below it."""
    whole: list[tuple[int, str, list[str]]] = []
    for at, line in _joined(block.line, block.text.splitlines(), prompt="$ "):
        if line.startswith("$ "):
            whole.append((at, line.removeprefix("$ ").strip(), []))
        elif whole:
            whole[-1][2].append(line)
        elif line.strip():
            raise PageError(f"{block.page}:{at}: a console block begins with `$ ` (got {line!r})")
    return [
        _command(block, at, line, shown, at == whole[-1][0]) for at, line, shown in whole
    ]  # fmt: skip


def _joined(first: int, lines: list[str], prompt: str = "") -> Iterator[tuple[int, str]]:
    """Yield the lines with their numbers, a command that a backslash carries on as one."""
    held, at = "", first
    for number, line in enumerate(lines, first):
        at = at if held else number
        if line.endswith("\\") and (held or line.startswith(prompt)):
            held += line[:-1].rstrip() + " "
            continue
        yield at, (held + line.lstrip().removeprefix("> ")) if held else line
        held = ""


def _command(
    block: Block, at: int, line: str, shown: tuple[str, ...] | list[str], last: bool
) -> Command:
    while shown and not shown[-1].strip():
        shown = shown[:-1]
    text = re.sub(r"\s+#\s.*$", "", line).strip()
    code = block.exit if last else 0
    return Command(f"{block.page}:{at}", text, code, tuple(shown), block.not_run)
