"""What a code row asks, whatever way it is written: for finding rows that ask one thing twice.

Order and repetition in `all` and `any` make no difference, nor does a check of one check, a double
`not`, a `not` outside or inside (De Morgan), a default that is written out, or a key's spelling.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from helix.checks.composition import AtLeastParams, ImpliesParams, NotParams, OfParams
from helix.checks.parts import Part
from helix.checks.window import Window, Windowed
from helix.model.canonical import canonical_text

_DUAL = {"all": "any", "any": "all"}


def meaning(part: Part, *, turned: bool = False) -> str:
    """Return what a check asks as one text; two that ask the same have the same."""
    return canonical_text(_meaning(part, turned))


def asked(part: Part) -> list[str]:
    """Return what each check asks that a check of all others is made of; nothing for others."""
    whole = _meaning(part, False)
    return [canonical_text(item) for item in whole[1]] if whole[0] == "all" else []


def repeats(part: Part) -> bool:
    """Whether an all, any or at-least holds one check twice, at any depth."""
    params = part.params
    if isinstance(params, OfParams):
        means = [meaning(item) for item in params.of]
        return len(set(means)) < len(means) or any(map(repeats, params.of))
    return any(map(repeats, _inside(params)))


def _inside(params: Any) -> Iterator[Part]:
    if isinstance(params, NotParams):
        yield params.of
    elif isinstance(params, ImpliesParams):
        yield from (params.premise, params.then)
    elif isinstance(params, Windowed):
        yield params.of
        if params.window.when is not None:
            yield params.window.when


def _meaning(part: Part, turned: bool) -> list[Any]:
    params = part.params
    if isinstance(params, NotParams):
        return _meaning(params.of, not turned)
    if isinstance(params, Windowed):
        return ["window", _bounds(params.window), _meaning(params.of, turned)]
    if isinstance(params, OfParams) and (not isinstance(params, AtLeastParams) or params.k == 1):
        name = "any" if isinstance(params, AtLeastParams) else part.check.name
        return _set(_DUAL[name] if turned else name, params, turned)
    found = _alone(part)
    return ["not", found] if turned else found


def _set(name: str, params: OfParams, turned: bool) -> list[Any]:
    """Return the checks of an all or any, nested ones of the same kind opened, each once."""
    items: dict[str, Any] = {}
    for part in params.of:
        inner = _meaning(part, turned)
        for item in inner[1] if inner[0] == name else [inner]:
            items[canonical_text(item)] = item
    if len(items) == 1:
        return list(next(iter(items.values())))
    return [name, [items[text] for text in sorted(items)]]


def _alone(part: Part) -> list[Any]:
    params = part.params
    if isinstance(params, AtLeastParams):
        return ["at-least", params.k, sorted(meaning(item) for item in params.of)]
    if isinstance(params, ImpliesParams):
        return ["implies", _meaning(params.premise, False), _meaning(params.then, False)]
    return [f"check:{part.check.name}", params.model_dump(mode="json", fallback=str)]


def _bounds(window: Window) -> dict[str, Any]:
    held = window.model_dump(mode="json", exclude={"when"}, fallback=str)
    when = None if window.when is None else _meaning(window.when, False)
    return {**held, "when": when}
