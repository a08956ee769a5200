"""Arguments of plain commands that argparse alone does not read."""

from __future__ import annotations

import argparse
from collections.abc import Sequence


class Subcommands(argparse.HelpFormatter):
    """Help of a command with words behind it, in the columns of Python 3.13 on every Python.

    Before 3.13 the indent of those words is not reckoned, so that the longest get a line alone.
    """

    def add_argument(self, action: argparse.Action) -> None:
        """Take in an argument; its words count with their indent."""
        super().add_argument(action)
        for word in self._iter_indented_subactions(action):
            length = len(self._format_action_invocation(word)) + self._current_indent
            self._action_max_length = max(self._action_max_length, length)


def positive(text: str) -> int:
    """Return a whole number above 0, or say what was given instead."""
    if not text.isascii() or not text.isdigit() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"must be a whole number above 0 (got '{text}')")
    return int(text)


def verbosity_flags(parser: argparse.ArgumentParser) -> None:
    """Let `-q` and `-v` set `verbosity` to quiet or verbose; without either it is None."""
    for short, long, word, text in (
        ("-q", "--quiet", "quiet", "the gate, the counts and the paths alone"),
        ("-v", "--verbose", "verbose", "everything that fails or is undecided, in full"),
    ):
        parser.add_argument(
            short, long, dest="verbosity", action="store_const", const=word, help=text
        )


def verbosity_words(args: argparse.Namespace) -> list[str]:
    """Return what `-q` or `-v` means as a word of the configuration."""
    return [f"report.verbosity={args.verbosity}"] if args.verbosity else []


def with_settings(parser: argparse.ArgumentParser, argv: Sequence[str]) -> argparse.Namespace:
    """Return the arguments; KEY=VALUE words are its `settings`, wherever they stand.

    argparse leaves words behind an option over where an earlier positional took none. A subcommand
    that takes no settings takes no further words either.
    """
    args, rest = parser.parse_known_args(argv)
    takes = hasattr(args, "settings")
    if any(word.startswith("-") or not takes for word in rest):
        parser.error(f"unrecognized arguments: {' '.join(rest)}")
    if takes:
        args.settings += rest
    return args
