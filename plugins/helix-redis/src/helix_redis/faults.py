"""What is wrong with a server, and what mends it: pure functions of what it said."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import redis

from helix_redis.options import VARIABLE, Options

GOES_ON = "then the same command goes on, and asks for nothing that was kept"
PRIMARY = "give the address of the primary: cache.options.address=redis://HOST:PORT"
SINGLE = "it takes the address of one server, or of a proxy before the cluster"


def unsuited(info: Mapping[str, Any], options: Options) -> str | None:
    """Return why a server loses replies by the way it is set up, of what INFO says; None if not."""
    if info.get("cluster_enabled") == 1:
        return f"it is a node of a cluster, which this cache cannot use; {SINGLE}"
    if info.get("role") == "slave":
        of = f"{info.get('master_host')}:{info.get('master_port')}"
        return f"it is a replica of {of}, where what is written is lost; {PRIMARY}"
    limit, policy = info.get("maxmemory", 0), str(info.get("maxmemory_policy", ""))
    if limit and policy.startswith("allkeys-") and options.eviction == "refused":
        return (
            f"it throws replies out when {limit:,} bytes are used (maxmemory-policy {policy}); "
            "they would be paid for again, and answered otherwise: type redis-cli CONFIG SET "
            "maxmemory-policy noeviction, or cache.options.eviction=accepted"
        )
    return None


def told(error: redis.RedisError, options: Options, name: str | None) -> str:
    """Return what an error of the server or of the connection says, and what to type."""
    said = str(error).rstrip(".")
    first = said.partition(" ")[0]
    code = getattr(error, "status_code", None) or (first if first.isupper() else "")
    said = said.removeprefix(f"{code} ")
    cures = _cures(options, name, said)
    if code in cures:
        return cures[code]
    if "DB index is out of range" in said:
        return f"it has no database {options.db}; set cache.options.db to one that it has, as 0"
    if isinstance(error, redis.TimeoutError):
        return (
            f"it does not answer within {options.timeout:g} s ({said}); look whether it is "
            f"reached from here, or raise cache.options.timeout; {GOES_ON}"
        )
    if "CERTIFICATE_VERIFY_FAILED" in said:
        return (
            f"its certificate is refused: {said}; if it is your own authority's, type export "
            "SSL_CERT_FILE=FILE"
        )
    if isinstance(error, redis.ConnectionError):
        why = said.rpartition(". ")[2] if said.startswith("Error ") else said
        return f"it cannot be reached: {why}; start it, or set cache.options.address; {GOES_ON}"
    return f"it refused: {code or type(error).__name__}: {said}"


def _cures(options: Options, name: str | None, said: str) -> dict[str, str]:
    """Return what each code of the server means here, and what to type."""
    env = options.password_env
    user = options.username or "default"
    return {
        "NOAUTH": f"it wants a password: type export {VARIABLE}=PASSWORD and "
        f"cache.options.password_env={VARIABLE}",
        "WRONGPASS": f"it refuses the password of user {user}: set "
        f"{env or 'cache.options.password_env'} and cache.options.username to one that it knows",
        "NOPERM": f"user {user} may not do what a cache does ({said}); type redis-cli ACL SETUSER "
        f"{user} '~{options.prefix}*' +get +set +del +watch +unwatch +multi +exec +discard +info "
        "+select +scan +mget +exists",
        "READONLY": f"it takes no writes, as a replica does; {PRIMARY}",
        "OOM": f"its memory is full; raise maxmemory there, or free some; {GOES_ON}",
        "MISCONF": f"it takes no writes because it cannot save them; make room on its disk; "
        f"{GOES_ON}",
        "NOREPLICAS": f"it takes no writes because replicas are missing (min-replicas-to-write); "
        f"{GOES_ON}",
        "LOADING": f"it is still reading its data; wait, {GOES_ON}",
        "WRONGTYPE": f"the key {name} is not text, so it is not Helix's; set cache.options.prefix "
        f"to one that nothing else uses, or type redis-cli -n {options.db} DEL {name}",
        **dict.fromkeys(
            ("MOVED", "ASK", "CLUSTERDOWN", "CROSSSLOT"),
            f"it is a node of a cluster, which this cache cannot use; {SINGLE}",
        ),
    }
