"""A real Redis server on a free port of loopback, with a folder of its own."""

from __future__ import annotations

import contextlib
import random
import shutil
import socket
import subprocess
from contextlib import closing
from pathlib import Path
from typing import Any

from helix.model.config import CacheConfig
from helix.model.request import Reply, Usage
from helix.registry import CacheSettings, load
from tests.moments import until

PROGRAM = shutil.which("redis-server")
SAFE = ("--appendonly", "yes", "--appendfsync", "always", "--save", "")
KEY = "a" * 64
WHOLE = Reply('a "reply"\n\0 with \ud800 and é', "length", "m-1", "thought", Usage(1, None, 3))


class RedisServer:
    """One process; `kill` ends that process alone, `begin` starts it again as it was."""

    def __init__(self, folder: Path, *words: str, port: int | None = None) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.folder, self.port = folder, port or free_port()
        self._words = [*SAFE, *words]
        self._process: subprocess.Popen[bytes] | None = None
        self.begin()

    @property
    def address(self) -> str:
        return f"redis://127.0.0.1:{self.port}"

    @property
    def pid(self) -> int:
        assert self._process is not None
        return self._process.pid

    def client(self, **options: Any) -> Any:
        """A plain client, which sees what any other program would see."""
        import redis

        return redis.Redis(host="127.0.0.1", port=self.port, protocol=2, **options)

    def begin(self) -> None:
        """Start the process, and wait until it takes connections."""
        assert PROGRAM is not None
        given = ["--bind", "127.0.0.1", "--port", str(self.port), "--dir", str(self.folder)]
        with open(self.folder / "log", "ab") as log:
            before = log.tell()
            self._process = subprocess.Popen(
                [PROGRAM, *given, *self._words], stdout=log, stderr=log
            )

        def said() -> bytes:
            return (self.folder / "log").read_bytes()[before:]

        try:
            # Another's server may answer on a port that this one did not get.
            until(lambda: b"Ready to accept" in said() and self._answers(), self._process)
        except AssertionError as error:
            error.add_note(said().decode("utf-8", "replace"))
            raise

    def kill(self) -> None:
        """End the process as a power cut would."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None

    def _answers(self) -> bool:
        try:
            with socket.create_connection(("127.0.0.1", self.port), timeout=5) as opened:
                opened.sendall(b"PING\r\n")
                said = opened.recv(100)
        except OSError:
            return False
        # One that wants a password refuses with NOAUTH, and is there.
        return bool(said) and not said.startswith(b"-LOADING")


def free_port() -> int:
    """A port that is free, and that the system gives to nobody who asks for any."""
    while True:
        port = random.SystemRandom().randrange(15_000, 30_000)
        with contextlib.suppress(OSError), socket.socket() as found:
            found.bind(("127.0.0.1", port))
            return port


def opened(server: RedisServer, **options: Any) -> Any:
    """The cache as a run opens it."""
    given = {"address": server.address, **options}
    return closing(load().get("caches", "redis").open(settings(given)))


def settings(options: dict[str, Any]) -> CacheSettings:
    return CacheSettings(CacheConfig(name="redis", options=options), ".helix")
