"""The built-in trace formats and sampling strategies, registered like anyone's."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module

from helix.ingest.sampling import SAMPLERS
from helix.registry import Format, Sampler, hookimpl

_FORMATS = (
    "agentrx",
    "anthropic",
    "atif",
    "claude_code",
    "code_change",
    "codex",
    "gemini_cli",
    "helix_jsonl",
    "inspect",
    "langfuse",
    "langsmith",
    "mini_swe_agent",
    "mlflow",
    "openai_chat",
    "openai_responses",
    "openhands",
    "openinference",
    "otel_genai",
    "swe_agent",
    "tau2_bench",
    "tau_bench",
    "trajectory_judge",
    "unitf",
    "vercel_ai",
    "who_and_when",
)


@hookimpl
def helix_register_formats(register: Callable[[Format], None]) -> None:
    """Register the built-in trace formats."""
    for name in _FORMATS:
        register(import_module(f"helix.ingest.formats.{name}").FORMAT)


@hookimpl
def helix_register_samplers(register: Callable[[Sampler], None]) -> None:
    """Register the built-in sampling strategies."""
    for sampler in SAMPLERS:
        register(sampler)
