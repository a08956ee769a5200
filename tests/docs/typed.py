"""Whether a command of Helix that a page types is one: its command, its options, its overrides."""

from __future__ import annotations

import argparse
import functools
import json
import re
import shlex
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NoReturn

import pytest
from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.core.override_parser.types import QuotedString
from pydantic import ValidationError

from helix.app import cli, compose, keys, launch
from helix.app.commands.schema import SHAPES
from helix.app.loading import imported
from helix.app.preflight import LAUNCHERS
from helix.errors import HelixError, UsageError, unknown
from helix.model.config import Config

PLACEHOLDER = re.compile(r"[A-Z][A-Z_\d]*(?:\.\w+)?…?|.*[…<>].*|N|/.*")
"""What stands for a reader's own word, such as RUN, FILE.jsonl and …."""
OVERRIDE = re.compile(r"(?:\+{1,2}|~)?([a-z_]+(?:[./][a-z_]+)*)=(.*)")
LAUNCHED = re.compile(rf"hydra/launcher=({'|'.join(LAUNCHERS.values())})$|hydra\.launcher\.")
"""What a launcher takes, which is a package of its own."""
SHELL = frozenset({"&&", "||", "|", ";", ">", ">>", "<"})
PLUGINS = [str(folder) for folder in Path(__file__).parents[2].glob("plugins/*/src/*/conf")]
"""The config groups of the plugins that lie beside Helix."""
_AUDITS = [[name] for name in cli.AUDITS]
GIVEN = ("subject.traces=runs", "criteria.file=suite.yaml")


def helix_words(line: str) -> list[list[str]]:
    """Return the words of every `helix` in a line of shell, without the name itself."""
    line = re.sub(r"<<-?\s*['\"]?(\w+)['\"]?\n.*?\n\s*\1$", "", line, flags=re.S | re.M)
    reader = shlex.shlex(line.replace("\n", " ; "), posix=True, punctuation_chars="|&;<>")
    reader.whitespace_split = True
    reader.commenters = ""
    found: list[list[str]] = [[]]
    for word in reader:
        if word in SHELL:
            found.append([])
        elif found[-1] or not re.fullmatch(r"[A-Z_]+=.*", word):
            found[-1].append(word)
    return [words[1:] for words in found if words[:1] == ["helix"]]


def whole(words: Sequence[str]) -> str | None:
    """Return what is wrong with a command that is typed as a reader would; nothing runs."""
    if _composes(words):
        return _told(lambda: _composed(words[0], words[1:]))
    return _told(lambda: _parsed(words, lenient=False))


def part(words: Sequence[str]) -> str | None:
    """Return what is wrong with a command in a sentence, which may lack what it needs."""
    words = [word for word in words if word not in ("…", "…]", "...")]
    if _composes(words):
        return _told(lambda: _composed(words[0], _completed(words[1:])))
    return _told(lambda: _parsed(words, lenient=True)) if words else None


def override(word: str) -> str | None:
    """Return what is wrong with one KEY=VALUE of a sentence; None also where it is none of ours."""
    found = OVERRIDE.fullmatch(word)
    if found is None or not found[2] or not _ours(found[1]):
        return None
    name, value = found[1], found[2]
    if "/" in name or name in _groups():
        options = _groups().get(name, ())
        near = not options or value in options or _own_word(value)
        return None if near else unknown(name, value, options)
    if wrong := key(name):
        return wrong
    return None if _own_word(value) else _told(lambda: _taken(name, word))


def key(dotted: str) -> str | None:
    """Return what is wrong with a dotted key of a sentence."""
    return None if keys.find(dotted) else f"unknown key '{dotted}'{keys.nearest(dotted)}"


def _composes(words: Sequence[str]) -> bool:
    """Return whether a command is one with a configuration, and not one of the plain audits."""
    return bool(words) and words[0] in cli.HYDRA and list(words[1:2]) not in _AUDITS


def _own_word(value: str) -> bool:
    """Return whether a value stands for a reader's own, as NAME, [FILE] and … do."""
    return PLACEHOLDER.fullmatch(value.strip("'\"[]{}")) is not None


def _ours(name: str) -> bool:
    return name.partition(".")[0] in {*Config.model_fields, *_groups()}


@functools.cache
def _groups() -> dict[str, list[str]]:
    """Return every config group with its options."""
    with compose.opened("evaluate", PLUGINS) as hydra:
        names = hydra.config_loader.list_groups("")
        return {name: hydra.config_loader.get_group_options(name) for name in names}


@functools.cache
def _plain() -> dict[str, Any]:
    return launch.configured("evaluate", GIVEN).model_dump()


def _taken(name: str, word: str) -> str | None:
    """Put the value of an override where it belongs, and hold the configuration to its model."""
    if name.startswith("hydra."):
        return None
    (typed,) = compose.typed([word], [], multirun=False)
    (read,) = OverridesParser.create().parse_overrides([typed.word])
    made = json.loads(json.dumps(_plain(), default=str))
    *sections, last = name.split(".")
    at = made
    for section in sections:
        at[section] = at = at.get(section) or {}
    at[last] = _value(read.value())
    try:
        Config.model_validate(made)
    except ValidationError as error:
        return str(error)
    return None


def _value(read: Any) -> Any:
    if isinstance(read, list):
        return [_value(one) for one in read]
    if isinstance(read, dict):
        return {_value(name): _value(one) for name, one in read.items()}
    return read.text if isinstance(read, QuotedString) else read


def _told(check: Callable[[], str | None]) -> str | None:
    try:
        return check()
    except HelixError as error:
        return str(error)


def _composed(command: str, rest: Sequence[str]) -> str | None:
    """Compose and validate as the command would, each job of a sweep too."""
    if {"-h", "--help", "--version"} & set(rest):
        return None
    args = launch._parsed(command, rest)
    args.overrides = [word for word in args.overrides if not LAUNCHED.match(word)]
    folders = [*PLUGINS, *([args.config_dir] if args.config_dir else [])]
    if not args.multirun:
        launch.located(command, args.overrides, folders)
        return None
    with compose.opened(command, folders) as hydra:
        groups = [g for g in hydra.config_loader.list_groups("") if g != "hydra"]
        found = compose.typed(args.overrides, groups, multirun=True)
        composed = compose.compose(hydra, command, [o.word for o in found], launch.RunMode.MULTIRUN)
        launch._preflight(hydra, composed, compose.directory(composed, "hydra.sweep.dir"), found)
    return None


def _completed(rest: Sequence[str]) -> list[str]:
    """Return the words with what a run needs, and without values that stand for a reader's own.

    The key of such a value is held to be one.
    """
    kept = []
    for word in rest:
        found = OVERRIDE.fullmatch(word)
        if found and _own_word(found[2]):
            if "/" not in found[1] and found[1] not in _groups() and (wrong := key(found[1])):
                raise UsageError(wrong)
        elif not PLACEHOLDER.fullmatch(word):
            kept.append(word)
    groups = {word.partition("=")[0] for word in kept}
    if groups & {"experiment", "subject"}:
        return kept
    return [*kept, *(given for given in GIVEN if given.partition("=")[0] not in groups)]


class _Parsed(Exception):
    """The words are read; nothing is to run."""


def _parsed(words: Sequence[str], *, lenient: bool) -> str | None:
    """Let a plain command read its words, and stop it there; then hold its settings.

    Lenient: nothing is required, and what stands for a reader's own word fits everywhere.
    """
    command, rest = words[0], list(words[1:])
    if command in ("--help", "--version", "-sc"):
        return None
    if command not in (*cli.PLAIN, "audit"):
        return f"there is no helix {command}"
    with pytest.MonkeyPatch.context() as patch:
        within: list[str] = []
        for name in ("parse_known_args", "parse_known_intermixed_args"):
            read = getattr(argparse.ArgumentParser, name)
            patch.setattr(argparse.ArgumentParser, name, _reading(read, within, lenient))
        patch.setattr(argparse.ArgumentParser, "error", _wrong)
        module = "audits" if command == "audit" else command
        try:
            imported(f"helix.app.commands.{module}").run(rest)
        except SystemExit:
            return None  # --help
        except _Parsed as parsed:
            found, settings = parsed.args
        else:
            return f"helix {command} read no words"
    if (wrong := _named(command, found)) or not settings:
        return wrong
    return part(["evaluate", *settings])


def _reading(original: Callable[..., Any], within: list[str], lenient: bool) -> Callable[..., Any]:
    """Return a reader of words that raises what the outermost parser has read."""

    def read(self: argparse.ArgumentParser, *given: Any, **named: Any) -> Any:
        if within:
            return original(self, *given, **named)
        if lenient:
            _loosened(self)
        within.append(self.prog)
        found, left = original(self, *given, **named)
        if left and (not hasattr(found, "settings") or any(word[0] == "-" for word in left)):
            self.error(f"unrecognized arguments: {' '.join(left)}")
        taken = [*getattr(found, "words", [])[1:], *(getattr(found, "settings", None) or ())]
        raise _Parsed(found, [*taken, *left])

    return read


def _wrong(self: argparse.ArgumentParser, message: str) -> NoReturn:
    raise UsageError(f"{self.prog}: {message}")


def _named(command: str, found: argparse.Namespace) -> str | None:
    """Return what is wrong with the name of a schema or of an item that a command is to show."""
    name = getattr(found, "name", None)
    if not isinstance(name, str) or PLACEHOLDER.fullmatch(name):
        return None
    if command == "schema" and name not in SHAPES:
        return unknown("schema", name, SHAPES)
    return None


def _loosened(parser: argparse.ArgumentParser) -> None:
    for action in parser._actions:
        action.required = False
        if isinstance(action, argparse._SubParsersAction):
            for below in action.choices.values():
                _loosened(below)
        elif action.choices is not None or action.type is not None:
            held = set(action.choices or ())
            action.type, action.choices = functools.partial(_fitting, action.type, held), None


def _fitting(kind: Callable[[str], Any] | None, choices: set[Any], text: str) -> Any:
    if PLACEHOLDER.fullmatch(text):
        return text
    value = kind(text) if kind else text
    if choices and value not in choices:
        raise argparse.ArgumentTypeError(f"must be one of {sorted(choices)} (got {text!r})")
    return value
