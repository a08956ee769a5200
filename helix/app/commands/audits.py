"""`helix audit diff|injection|variance`: the audits that are plain commands."""

from __future__ import annotations

import argparse
import shlex
from collections.abc import Sequence

from helix.app.arguments import Subcommands, with_settings
from helix.app.commands import audit_diff, audit_injection, audit_variance
from helix.app.job import invoked
from helix.errors import ExitCode


def run(argv: Sequence[str]) -> ExitCode:
    """Run one of the plain audits; each says how it exits."""
    parser = argparse.ArgumentParser(
        prog="helix audit",
        description="Audit what Helix decides.",
        formatter_class=Subcommands,
    )
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    audit_diff.add(commands)
    audit_injection.add(commands)
    audit_variance.add(commands)
    args = with_settings(parser, argv)
    match args.command:
        case "diff":
            return audit_diff.run(args)
        case "variance":
            return audit_variance.run(args)
    return audit_injection.run(args, shlex.join([*invoked(), "audit", *argv]))
