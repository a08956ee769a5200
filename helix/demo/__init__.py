"""The demo: a made-up recruiting agent, its traces with known faults, its suite, its replies.

Nobody and nothing in it exists: the names are made up, the addresses end in `.example`.
"""

from helix.demo.generator import generate, write

__all__ = ["generate", "write"]
