"""What tests share: real traces and cases beside the project, and no deadline for a property."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import settings

# A property is right or wrong, however busy the machine is.
settings.register_profile("helix", deadline=None)
settings.load_profile("helix")

PROJECT = Path(__file__).resolve().parents[1]
SHARED = PROJECT.parent / "shared"


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
