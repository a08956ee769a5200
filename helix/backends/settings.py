"""What backends read out of their settings alike."""

from __future__ import annotations

from helix.model.config import VerifierConfig
from helix.registry import JudgeSettings


def section_of(settings: JudgeSettings) -> str:
    """Return the config section that the settings come from, to name its keys in errors."""
    return "verifier" if isinstance(settings.config, VerifierConfig) else "judge"
