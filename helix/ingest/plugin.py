"""The built-in trace formats and sampling strategies, registered like anyone's."""

from __future__ import annotations

from collections.abc import Callable

from helix.ingest.formats import agentrx, helix_jsonl, openai_chat, tau_bench
from helix.ingest.sampling import SAMPLERS
from helix.registry import Format, Sampler, hookimpl


@hookimpl
def helix_register_formats(register: Callable[[Format], None]) -> None:
    """Register the built-in trace formats."""
    for module in (agentrx, helix_jsonl, openai_chat, tau_bench):
        register(module.FORMAT)


@hookimpl
def helix_register_samplers(register: Callable[[Sampler], None]) -> None:
    """Register the built-in sampling strategies."""
    for sampler in SAMPLERS:
        register(sampler)
