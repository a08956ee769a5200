"""What `cache.options` says of a Redis server; a password is only ever the name of a variable."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Annotated, Any, Final, Literal
from urllib.parse import unquote, urlsplit

from pydantic import BaseModel, ConfigDict, Field, StringConstraints, ValidationError

from helix.errors import CacheError, ConfigError, did_you_mean
from helix.reports.visible import one_line

VARIABLE: Final = "HELIX_REDIS_PASSWORD"
PORT: Final = 6379
_FORMS = "redis://HOST:PORT, rediss://HOST:PORT (TLS) or unix:///PATH"
_WANTED = {
    "address": f"text: {_FORMS}",
    "db": "a whole number from 0",
    "prefix": "text of one or more visible ASCII characters",
    "timeout": "a number of seconds above 0",
    "username": "text or null",
    "password_env": "the name of an environment variable, or null",
    "eviction": "refused or accepted",
}


class Options(BaseModel):
    """The section as it was checked; `address` is parted into where to connect."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    address: str = Field(default=f"redis://127.0.0.1:{PORT}", pattern=r"^[!-~]+$")
    db: int = Field(default=0, ge=0, strict=True)
    prefix: str = Field(default="helix:", pattern=r"^[!-~]+$")
    timeout: float = Field(default=5.0, gt=0, allow_inf_nan=False)
    username: Annotated[str, StringConstraints(min_length=1)] | None = None
    password_env: str | None = Field(default=None, pattern=r"^[A-Za-z_][A-Za-z0-9_]*$")
    eviction: Literal["refused", "accepted"] = "refused"

    @classmethod
    def of(cls, given: Mapping[str, Any]) -> Options:
        """Check a section; raises ConfigError, which never repeats what may hold a password."""
        for name in given:
            if name not in cls.model_fields:
                names = list(cls.model_fields)
                raise ConfigError(
                    f"cache.options must be of {', '.join(names)} (got {one_line(str(name))}"
                    f"{did_you_mean(str(name), names)})"
                )
        try:
            options = cls.model_validate(dict(given))
        except ValidationError as error:
            name = str(error.errors(include_url=False)[0]["loc"][0])
            got = "" if name in ("address", "password_env") else f" (got {given[name]!r})"
            raise ConfigError(f"cache.options.{name} must be {_WANTED[name]}{got}") from None
        options.where()
        return options

    def where(self) -> dict[str, Any]:
        """Return where to connect, as redis-py takes it."""
        if "@" in unquote(self.address):
            raise ConfigError(
                "cache.options.address must hold no user and no password, which would be written "
                f"to every run: type export {VARIABLE}=PASSWORD, cache.options.password_env="
                f"{VARIABLE} and, if it is not the default user, cache.options.username=USER"
            )
        wrong = ConfigError(
            f"cache.options.address must be {_FORMS} and no more; the database is "
            "cache.options.db, a password cache.options.password_env"
        )
        try:
            parts = urlsplit(self.address)
            host, port = parts.hostname, parts.port
        except ValueError:
            raise wrong from None
        if parts.query or parts.fragment:
            raise wrong
        if parts.scheme == "unix" and not parts.netloc and parts.path.startswith("/"):
            return {"unix_socket_path": parts.path}
        if parts.scheme not in ("redis", "rediss") or not host or parts.path not in ("", "/"):
            raise wrong
        return {
            "host": host,
            "port": PORT if port is None else port,
            "ssl": parts.scheme == "rediss",
        }

    def password(self) -> str | None:
        """Return the password from the environment; CacheError where its variable is not set."""
        if self.password_env is None:
            return None
        found = os.environ.get(self.password_env)
        if not found:
            raise CacheError(
                f"cache.options.password_env={self.password_env}, which is not set; type export "
                f"{self.password_env}=PASSWORD"
            )
        return found
