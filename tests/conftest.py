"""What tests share: real traces and cases beside the project, and no deadline for a property."""

from __future__ import annotations

import signal
from pathlib import Path

import pytest
from hypothesis import settings

from helix.app import cli
from tests.endings import held_to_its_help
from tests.environments import Environments, built, run

# A property is right or wrong, however busy the machine is.
settings.register_profile("helix", deadline=None)
settings.load_profile("helix")

# What a shell starts in the background ignores Ctrl-C, and so would every program that a test
# starts in order to interrupt it.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

PROJECT = Path(__file__).resolve().parents[1]
SHARED = PROJECT.parent / "shared"

# Before a test module has imported it.
cli.main = held_to_its_help(cli.main)


@pytest.fixture(scope="session")
def project() -> Path:
    """The project's root."""
    return PROJECT


@pytest.fixture(scope="session")
def shared() -> Path:
    """The folder ../shared; its tests are skipped, visibly, where it is absent."""
    if not SHARED.is_dir():
        pytest.skip("../shared is not here: real traces and cases are not tested")
    return SHARED


@pytest.fixture(scope="session")
def environments(tmp_path_factory: pytest.TempPathFactory) -> Environments:
    """What makes environments in which the lock's packages are there at once."""
    return Environments(tmp_path_factory.mktemp("locked"))


@pytest.fixture(scope="session")
def clone(project: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A fresh clone of what is committed, to read and to build from."""
    folder = tmp_path_factory.mktemp("clone") / "clone"
    if run("git", "clone", "--quiet", project, folder).returncode:
        pytest.skip("not a git checkout")
    return folder


@pytest.fixture(scope="session")
def wheel(clone: Path) -> Path:
    """The wheel of Helix, built from what is committed."""
    return built(clone, clone.parent / "helix")
