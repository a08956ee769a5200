"""Binding: what every term of a criterion refers to in this trace (METHOD 2, 10, 16).

Where a term names a tool, a field path, an id or a quoted value, code looks for the referent and
its finding stands, whatever the judge says. Any other term is bound by the judge, by a ref that
is checked like all evidence; a scan, which shows an absence, is no referent. A judge may add
terms and may leave none out.

A tool that is in the subject's inventory and was not called is bound by a scan, if a channel that
holds the name of every call is declared complete: not to have been called is then a fact.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Literal, NamedTuple

import msgspec

from helix.errors import PathError
from helix.fieldpath import FieldPath, parse, parse_relative
from helix.grounding.ground import Ground
from helix.grounding.resolve import repeat_scan, resolve_refs
from helix.grounding.texts import below, fold, leaves, stands_in
from helix.model.select import select
from helix.model.trace import Trace
from helix.model.verdict import MAX_CITED, Binding, Ref, Scan, Verdict

Kind = Literal["tool", "path", "value", "words"]
QUOTES = {'"': '"', "'": "'", "“": "”", "‘": "’", "«": "»", "`": "`"}
NAME_CHANNELS = ("observations[*].name", "obs:*.name")
_ID = re.compile(
    r"#[\w-]+"
    r"|(?=[A-Z0-9_-]*\d)(?=.{4})[A-Z0-9]+(?:[-_][A-Z0-9]+)*"
    r"|[A-Za-z]+[_:#]\d+"
    r"|[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}"
)


class Named(NamedTuple):
    """What a term names: a tool, a field path, a value that is there word for word, or words."""

    kind: Kind
    text: str


def naming(term: str, tools: frozenset[str]) -> Named:
    """Return what a term names; only `words` need a judge to say what they refer to."""
    bare = fold(term)
    inner = bare[1:-1].strip() if QUOTES.get(bare[:1]) == bare[-1:] and len(bare) > 2 else ""
    if (inner or bare) in tools:
        return Named("tool", inner or bare)
    if _path(inner or bare) is not None:
        return Named("path", inner or bare)
    if inner:
        return Named("value", inner)
    return Named("value" if _ID.fullmatch(bare) else "words", bare)


def bind(verdict: Verdict, terms: Sequence[str], ground: Ground) -> Verdict:
    """Return the verdict with the bindings that code decides, the judge's where code cannot.

    The row's terms come first and in its spelling; a term that the judge left out has no binding.
    """
    given: dict[str, list[Binding]] = {}
    for binding in verdict.bindings:
        given.setdefault(_key(binding.term), []).append(binding)
    bound: list[Binding] = []
    for term in dict.fromkeys(terms):
        said = given.pop(_key(term), [])
        named = naming(term, ground.tools)
        if named.kind == "words":
            bound += [_checked(msgspec.structs.replace(b, term=term)) for b in said]
        else:
            bound.append(_decided(term, named, said, ground))
    bound += [_checked(binding) for rest in given.values() for binding in rest]
    return msgspec.structs.replace(verdict, bindings=tuple(bound))


def lacking(verdict: Verdict, terms: Sequence[str]) -> list[str]:
    """Return the terms that a bound verdict has no binding for."""
    there = {_key(binding.term) for binding in verdict.bindings}
    return [term for term in terms if _key(term) not in there]


def referent(named: Named, ground: Ground) -> Ref | None:
    """Return where code finds what a term names, a place that was shown before any other."""
    first: Ref | None = None
    for ref in _found(named, ground):
        if ground.shows(ref):
            return ref
        first = first or ref
    return first


def _key(term: str) -> str:
    return fold(term).casefold()


def _path(text: str) -> FieldPath | None:
    """Return the path that a term spells; a single word is a word, even where it is a root."""
    if not ("." in text or "[" in text or text.startswith("obs:")):
        return None
    try:
        return parse(text)
    except PathError:
        return None


def _checked(binding: Binding) -> Binding:
    """Return a judge's binding, without a referent where it cites an absence."""
    if binding.ref is not None and binding.ref.scan is not None:
        return msgspec.structs.replace(binding, ref=None)
    return binding


def _decided(term: str, named: Named, said: Sequence[Binding], ground: Ground) -> Binding:
    """Return code's binding, or the judge's where it cites a place that was shown and fits."""
    found = referent(named, ground)
    if found is None:
        return Binding(term=term)
    for binding in said:
        ref = binding.ref
        if ref is None or ref.match in (None, "dead") or not ground.shows(ref):
            continue
        if _fits(named, ref, ground.trace):
            return Binding(term=term, ref=ref)
    return Binding(term=term, ref=found)


def _fits(named: Named, ref: Ref, trace: Trace) -> bool:
    """Whether a ref that resolves stands where the named thing is."""
    if named.kind == "value":
        return stands_in(named.text, fold(ref.value or ""))
    if named.kind == "tool":
        return any(o.id == ref.obs and o.name == named.text for o in trace.observations)
    return any(
        ref.obs == place.obs and f"{ref.path}.".startswith((f"{place.path}.", f"{place.path}["))
        for place in select(trace, parse(named.text))
    )


def _found(named: Named, ground: Ground) -> Iterator[Ref]:
    trace = ground.trace
    if named.kind == "tool":
        yield from _calls(named.text, ground)
    elif named.kind == "path":
        for place in select(trace, parse(named.text)):
            if not place.missing:
                for leaf in below(place.obs, parse_relative(place.path).steps, place.value):
                    yield from _citing(leaf.obs, leaf.path, fold(leaf.text), trace)
    else:
        for leaf in leaves(trace):
            if stands_in(named.text, fold(leaf.text)):
                yield from _citing(leaf.obs, leaf.path, named.text, trace)


def _calls(name: str, ground: Ground) -> Iterator[Ref]:
    called = False
    for observation in ground.trace.observations:
        if observation.name == name:
            called = True
            yield Ref(obs=observation.id, path="name", value=name, match="exact")
    channel = next((c for c in ground.complete_channels if c in NAME_CHANNELS), None)
    if not called and channel is not None:
        scan = Scan(channel=channel, pattern=f"^{re.escape(name)}$", items=0, matches=0)
        again = repeat_scan(ground.trace, scan)
        yield Ref(obs=ground.trace.id, path=channel, scan=again, match="scan")


def _citing(obs: str, path: str, text: str, trace: Trace) -> Iterator[Ref]:
    """Yield a ref to a place by its first words; nothing where there is nothing to cite."""
    if len(text) > MAX_CITED:
        text = text[:MAX_CITED].rpartition(" ")[0] or text[:MAX_CITED]
    (ref,) = resolve_refs(trace, [Ref(obs=obs, path=path, value=text)])
    if ref.match != "dead":
        yield ref
