"""Commands as a newcomer's shell runs them, and environments that hold what the lock pins."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
THIS = "{}.{}".format(*sys.version_info)


def run(*command: str | Path, cwd: Path = ROOT, **env: str) -> subprocess.CompletedProcess[str]:
    """Run a command as a newcomer's shell would: without this interpreter's own settings."""
    inherited = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("PYTHON", "PYTEST", "COV_", "VIRTUAL_ENV", "MAKE", "MFLAGS"))
    }
    return subprocess.run(
        [str(part) for part in command],
        cwd=cwd,
        env=inherited | env,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        encoding="utf-8",
        check=False,
    )


class Environments:
    """Makes environments; the lock is installed once for each Python, in the folder given."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._packages: dict[str, Path] = {}

    def make(self, at: Path, version: str = THIS) -> Path:
        """Make an environment that sees what the lock pins and nothing else; return its Python.

        It reads those packages where they are installed, so what a test adds is in this one alone.
        The test is skipped, visibly, where that Python is not installed.
        """
        if version not in self._packages:
            python = _empty(self._folder / version, version)
            pip(python, "--require-hashes", "-r", ROOT / "requirements.lock")
            self._packages[version] = _packages(python)
        python = _empty(at, version)
        (_packages(python) / "locked.pth").write_text(str(self._packages[version]), "utf-8")
        return python


def pip(python: Path, *words: str | Path) -> None:
    """Install into the environment that a Python is of."""
    done = run(python, "-m", "pip", "install", "-q", *words, cwd=python.parents[1])
    assert done.returncode == 0, done.stderr


def built(source: Path, folder: Path) -> Path:
    """Build the wheel of a source tree into a folder of its own."""
    words = ("-m", "pip", "wheel", "-q", "--no-deps", "-w", folder, source)
    done = run(sys.executable, *words)
    assert done.returncode == 0, done.stderr
    (found,) = folder.glob("*.whl")
    return found


def _empty(at: Path, version: str) -> Path:
    # Under pyenv every version is on PATH, but only the chosen one runs.
    interpreter = sys.executable if version == THIS else shutil.which(f"python{version}")
    if not interpreter or run(interpreter, "-m", "venv", at, PYENV_VERSION=version).returncode:
        pytest.skip(f"Python {version} is not installed here")
    return at / "bin" / "python"


def _packages(python: Path) -> Path:
    (found,) = python.parents[1].glob("lib/python*/site-packages")
    return found
