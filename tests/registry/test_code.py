"""A Python file that a configuration names runs as it stands, whatever bytecode lies beside it."""

from __future__ import annotations

import dataclasses
import os
import py_compile
import subprocess
import sys
from pathlib import Path

import pytest

import helix.improve
from helix.registry.code import module_of

SAYS = "def says(given):\n    return {!r}\n"


@pytest.fixture
def mended(tmp_path: Path) -> Path:
    """A file that was mended within the second in which its bytecode was written, at its size."""
    file = tmp_path / "own_code.py"
    file.write_text(SAYS.format("old"), encoding="utf-8")
    os.utime(file, (10, 10))
    py_compile.compile(str(file))
    file.write_text(SAYS.format("new"), encoding="utf-8")
    os.utime(file, (10, 10))
    return file


def test_a_file_that_was_mended_runs_as_it_stands(mended: Path) -> None:
    assert module_of(mended, "mended_code").says({}) == "new"


def test_so_does_the_function_of_a_subject(mended: Path) -> None:
    callee = Path(str(helix.improve.__file__)).with_name("callee.py")
    done = subprocess.run([sys.executable, "-B", "-P", str(callee), f"{mended}:says"],
                          input=b"{}", stdout=subprocess.PIPE, check=True)  # fmt: skip
    assert done.stdout == b'"new"'


def test_a_file_may_define_dataclasses(tmp_path: Path) -> None:
    file = tmp_path / "shapes.py"
    file.write_text("from __future__ import annotations\nfrom dataclasses import dataclass\n\n\n"
                    "@dataclass\nclass Shape:\n    size: int\n", encoding="utf-8")  # fmt: skip
    made = module_of(file, "shapes_of_a_test")
    assert dataclasses.fields(made.Shape)[0].name == "size"
    assert sys.modules.pop("shapes_of_a_test") is made


@pytest.mark.parametrize("text", ["raise SystemExit(0)", "raise ValueError('no')", "def"])
def test_nothing_stays_of_a_file_that_cannot_be_run(tmp_path: Path, text: str) -> None:
    file = tmp_path / "broken.py"
    file.write_text(text, encoding="utf-8")
    with pytest.raises((SystemExit, ValueError, SyntaxError)):
        module_of(file, "broken_code")
    assert "broken_code" not in sys.modules
