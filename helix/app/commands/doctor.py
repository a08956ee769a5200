"""`helix doctor`: whether Helix can work here, and what to type where it cannot."""

from __future__ import annotations

import argparse
import dataclasses
from collections.abc import Sequence

from helix.app import console
from helix.app.health import Finding, examined
from helix.errors import ExitCode
from helix.reports.visible import visible
from helix.reports.words import wrapped


def run(argv: Sequence[str]) -> ExitCode:
    """Print every finding with its fix; exits 2 if something fails, else 0."""
    parser = argparse.ArgumentParser(
        prog="helix doctor",
        description="Say whether Helix can work here: Python, packages and extras, plugins, the "
        "configuration, the keys that judge and verifier need (by the variable's name, never its "
        "value), the reply cache, and where it writes; each with what to type if it is not so. "
        "Nobody is asked and nothing is kept. Exits 0, or 2 if something fails.",
    )
    parser.add_argument(
        "words",
        metavar="KEY=VALUE",
        nargs="*",
        help="keys and groups as helix evaluate takes them: judge=litellm judge.model=MODEL",
    )
    text = "a folder with config groups of your own"
    parser.add_argument("--config-dir", metavar="DIR", action="append", default=[], help=text)
    parser.add_argument("--json", action="store_true", help="print JSON")
    args = parser.parse_intermixed_args(argv)
    found = list(examined(args.words, args.config_dir))
    counts = {word: sum(one.state == word for one in found) for word in ("ok", "warn", "fail")}
    if args.json:
        plain = [dataclasses.asdict(one) for one in found]
        console.say_json({"findings": plain, "counts": counts})
    else:
        last = ", ".join(f"{n} {word}" for word, n in counts.items())
        console.say("\n".join([line for one in found for line in _lines(one)] + [last]))
    return ExitCode.USAGE if counts["fail"] else ExitCode.PASS


def _lines(one: Finding) -> list[str]:
    lines = wrapped(visible(f"{one.state:<4}  {one.about}: {one.text}"))
    return lines if one.fix is None else [*lines, *wrapped(visible(f"fix: {one.fix}"), " " * 6)]
