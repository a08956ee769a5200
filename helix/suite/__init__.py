"""Suites: YAML → criteria → rows that can run, with every problem told before anything does."""

from helix.suite.compile import (
    CompiledRow,
    CompiledSuite,
    SeverityRule,
    compile,
    gates,
)
from helix.suite.lint import lint
from helix.suite.load import SuiteFile, load
from helix.suite.problems import Finding

__all__ = [
    "CompiledRow",
    "CompiledSuite",
    "Finding",
    "SeverityRule",
    "SuiteFile",
    "compile",
    "gates",
    "lint",
    "load",
]
