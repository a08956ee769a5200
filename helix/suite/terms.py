"""Terms for rows that a judge decides and that name none (METHOD 16).

A proposal is read off the statement alone, by rules that anybody can follow, and is there to be
revised: a term is a word that must refer to something in a trace for the row to be decidable at
all, so what the row *demands* does not belong among them. In order: values in quotes, tools of the
inventory, field paths, ids, and noun phrases. A noun phrase begins after an article, a possessive
or a preposition, runs to the next small word, verb or mark, and has at most three words. What a
negation is about must not be there and so has no referent: of a clause with “no”, “not”, “never”
or “without” only what stands before that word is looked up, and its next noun phrase is passed by.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from helix.grounding import Ground
from helix.grounding.bind import Kind, naming, referent
from helix.model.criterion import Criterion
from helix.model.trace import Trace
from helix.suite.load import SuiteFile

PASS_PREFIX = "Pass = "
MOST_PHRASES = 5
LONGEST_PHRASE = 3

_QUOTED = re.compile(r'"([^"\n]+)"|“([^”\n]+)”|‘([^’\n]+)’|«([^»\n]+)»|`([^`\n]+)`')
_TOKEN = re.compile(r"(?:[^\s,;:!?()]|:(?=\S))+|[,;:!?()]")
_WORD = re.compile(r"[^\W\d_][\w'’-]*")
_PRIVATE = 0xE000


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_NEGATIONS = _words("no not never without nothing none neither nor")
_OPENERS = _words(
    "a an the its their his her our your this that these those every each any all some one two "
    "three both no of in on at to for from with without within by about before after between "
    "under over into than per as against during"
)
_STOPS = _words(
    "and or but nor not never nothing none neither only also so then always if when where while "
    "unless until because most least more less is are was were be been being has have had does do "
    "did can could may might must shall should will would it they he she you we who whom which "
    "what there here how why whether"
)
_VERBS = _words(
    "agrees allows announces answers asks books calls carries changes cites claims comes confirms "
    "contains ends fits follows gets gives goes happens holds includes invents keeps leaves makes "
    "matches meets mentions misses names needs offer offers opens passes promises reaches reads "
    "records refers repeats reports rest rests returns says sends shows stands starts states stays "
    "stops takes tells uses waits writes said sent shown stated given made named called done read "
    "confirmed"
)


@dataclass(frozen=True, slots=True)
class Term:
    """One proposed term: what it names, and in how many of `n` traces code finds a referent.

    `k` and `n` are None where no traces were read, or where only a judge can tell.
    """

    text: str
    kind: Kind
    k: int | None = None
    n: int | None = None


@dataclass(frozen=True, slots=True)
class Proposal:
    """What is proposed for one row; `at` is its place in the suite."""

    criterion_id: str
    at: int
    line: int
    terms: tuple[Term, ...]


def propose(suite: SuiteFile, tools: Collection[str] = ()) -> list[Proposal]:
    """Return terms for every active judged row that has none, in file order.

    `tools` are those that the subject is known to have, beside the suite's own.
    """
    known = frozenset((*tools, *suite.tools))
    return [
        Proposal(
            criterion_id=row.criterion.criterion_id,
            at=row.at,
            line=row.line,
            terms=tuple(Term(t, naming(t, known).kind) for t in terms_of(row.criterion, known)),
        )
        for row in suite.rows
        if _lacks(row.criterion)
    ]


def counted(
    proposals: Sequence[Proposal], tools: Collection[str], traces: Iterable[Trace]
) -> list[Proposal]:
    """Return the proposals with the number of traces in which code finds each referent."""
    known = frozenset(tools)
    asked = {t.text: naming(t.text, known) for p in proposals for t in p.terms if t.kind != "words"}
    found, n = dict.fromkeys(asked, 0), 0
    for trace in traces:
        n += 1
        ground = Ground(trace, tools=known)
        for text, named in asked.items():
            found[text] += referent(named, ground) is not None
    return [
        replace(p, terms=tuple(replace(t, k=found[t.text], n=n) if t.text in found else t
                               for t in p.terms))
        for p in proposals
    ]  # fmt: skip


def terms_of(criterion: Criterion, tools: frozenset[str]) -> tuple[str, ...]:
    """Return the terms that a row's statement suggests, each once, in the order of the rules."""
    said = criterion.statement.removeprefix(PASS_PREFIX)
    quoted = [_quoted(match, tools) for match in _QUOTED.finditer(said)]
    places = map(chr, itertools.count(_PRIVATE))
    rest = _QUOTED.sub(lambda _: f" {next(places)} ", said)
    plain = _affirmed(rest)
    found = [value for at, value in enumerate(quoted) if chr(_PRIVATE + at) in plain]
    found += _looked_up(plain, tools)
    known = {term.casefold() for term in found}
    phrases = [p for p in dict.fromkeys(_phrases(rest, tools)) if p.casefold() not in known]
    return tuple(dict.fromkeys([*found, *phrases[:MOST_PHRASES]]))


def _lacks(criterion: Criterion) -> bool:
    return (
        criterion.implied_class != "code" and criterion.status == "active" and not criterion.terms
    )


def _affirmed(text: str) -> str:
    """Return a text without what stands in a clause after a negation."""
    kept: list[str] = []
    for clause in re.split(r"(?<=[,;:])\s", text):
        negation = next((m for m in _WORD.finditer(clause) if m.group() in _NEGATIONS), None)
        kept.append(clause[: negation.start()] if negation else clause)
    return " ; ".join(kept)


def _quoted(match: re.Match[str], tools: frozenset[str]) -> str:
    inner = next(group for group in match.groups() if group is not None).strip()
    return inner if naming(inner, tools).kind in ("tool", "path") else f'"{inner}"'


def _looked_up(text: str, tools: frozenset[str]) -> Iterator[str]:
    """Yield the tools, paths and ids that stand in a text, in that order."""
    words = [_bare(token) for token in _TOKEN.findall(text)]
    for kind in ("tool", "path", "value"):
        yield from (word for word in words if word and naming(word, tools).kind == kind)


def _phrases(text: str, tools: frozenset[str]) -> Iterator[str]:
    run: list[str] | None = None
    negated = False
    for token in [*_TOKEN.findall(text), ";"]:
        word = _bare(token)
        plain = word.casefold()
        opens = plain in _OPENERS
        ends = opens or _is_end(word, run, tools)
        if run and (ends or len(run) == LONGEST_PHRASE):
            if not negated:
                yield " ".join(run)
            run, negated = None, False
        negated = negated or plain in _NEGATIONS
        if opens:
            run = []
        elif run is not None:
            run = None if ends else [*run, word]
            if run and token != word:
                if not negated:
                    yield " ".join(run)
                run, negated = [] if token.endswith(("'s", "’s")) else None, False


def _bare(token: str) -> str:
    return token.rstrip(".").removesuffix("'s").removesuffix("’s")


def _is_end(word: str, run: list[str] | None, tools: frozenset[str]) -> bool:
    """Whether a word ends a noun phrase: a small word, a verb, a mark, or what code looks up."""
    plain = word.casefold()
    if plain in _STOPS or plain in _VERBS or not _WORD.fullmatch(word):
        return True
    return (bool(run) and plain.endswith("ed")) or naming(word, tools).kind != "words"
