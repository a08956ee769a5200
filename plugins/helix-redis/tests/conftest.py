"""The plugin's tests run beside Helix's own, whose servers and judges they use."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hypothesis import settings

sys.path.insert(0, str(Path(__file__).resolve().parents[3]))
sys.path.insert(0, str(Path(__file__).resolve().parent))

from redis_server import RedisServer

# A property is right or wrong, however busy the machine is.
settings.register_profile("helix", deadline=None)
settings.load_profile("helix")


@pytest.fixture
def started(tmp_path: Path) -> Iterator[Callable[..., RedisServer]]:
    """Start servers with further settings; each is ended with the test."""
    servers: list[RedisServer] = []

    def start(*words: str, **named: int) -> RedisServer:
        servers.append(RedisServer(tmp_path / f"server-{len(servers)}", *words, **named))
        return servers[-1]

    yield start
    for server in servers:
        server.kill()


@pytest.fixture
def server(started: Callable[..., RedisServer]) -> RedisServer:
    """A server that has written each reply to its disk before it says so."""
    return started()
