"""Pluggy registries: every format, check, judge and renderer is found by name, built-ins too."""

from helix.registry.hookspecs import hookimpl
from helix.registry.items import (
    Backend,
    Check,
    CheckContext,
    Decision,
    DeterminismDimension,
    Executor,
    Format,
    Item,
    Judge,
    JudgeSettings,
    LabelSource,
    Match,
    Record,
    Registered,
    Renderer,
    ReplyCache,
    Sampler,
    SubjectRunner,
)
from helix.registry.loading import Problem, Registry, load

__all__ = [
    "Backend",
    "Check",
    "CheckContext",
    "Decision",
    "DeterminismDimension",
    "Executor",
    "Format",
    "Item",
    "Judge",
    "JudgeSettings",
    "LabelSource",
    "Match",
    "Problem",
    "Record",
    "Registered",
    "Registry",
    "Renderer",
    "ReplyCache",
    "Sampler",
    "SubjectRunner",
    "hookimpl",
    "load",
]
