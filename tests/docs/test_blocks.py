"""What a page types is read as a reader would, and what is wrong with it is told."""

from __future__ import annotations

import pytest

from tests.docs import typed
from tests.docs.blocks import Block, PageError, blocks, commands, inline, shows

PAGE = """\
# A page

Run `helix cache
stats`, or ``a `quoted` word``.

```yaml title="suite.yaml"
criteria:
  - `helix no-command`
```

<!-- exit: 3 -->

```console
$ helix evaluate subject.traces=runs/ \\
    criteria.file=suite.yaml   # a word
…
Gate: … pass
$ cat suite.yaml
```

1. a list

   <!-- not run: asks a provider -->
   ```sh
   # first
   A=1 helix evaluate

   helix report RUN
   ```
"""


def block(text: str, language: str = "console", code: int = 0) -> Block:
    return Block("page.md", 1, language, None, text, code)


def test_a_block_has_its_place_language_title_code_and_reason() -> None:
    suite, session, shell = blocks("page.md", PAGE)
    assert (suite.where, suite.language, suite.title) == ("page.md:7", "yaml", "suite.yaml")
    assert suite.text == "criteria:\n  - `helix no-command`\n"
    assert (session.where, session.exit, session.not_run) == ("page.md:14", 3, None)
    assert (shell.where, shell.exit, shell.not_run) == ("page.md:25", 0, "asks a provider")
    assert shell.text.startswith("# first\nA=1 helix")


def test_a_session_is_commands_with_what_each_shows() -> None:
    first, second = commands(blocks("page.md", PAGE)[1])
    assert first.text == "helix evaluate subject.traces=runs/ criteria.file=suite.yaml"
    assert (first.where, first.exit, first.shown) == ("page.md:14", 0, ("…", "Gate: … pass"))
    assert (second.where, second.exit, second.shown) == ("page.md:18", 3, ())


def test_a_shell_block_is_a_command_a_line_and_a_script_is_one() -> None:
    typed_in = commands(blocks("page.md", PAGE)[2])
    assert [(c.where, c.text) for c in typed_in] == [
        ("page.md:26", "A=1 helix evaluate"),
        ("page.md:28", "helix report RUN"),
    ]
    script = "for run in a b; do\n  helix report $run\ndone\n"
    assert [c.text for c in commands(block(script, "sh"))] == [script]


def test_backticks_in_sentences_are_read_over_the_end_of_a_line_and_not_in_blocks() -> None:
    assert inline(PAGE) == [(3, "helix cache stats"), (4, "a `quoted` word")]


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("```sh\nhelix doctor\n", "page.md:1: the block has no end"),
        ("<!-- exit: one -->\n```sh\n```\n", "exit must be a whole number (got 'one')"),
        ("<!-- not run -->\n```sh\n```\n", "not run must say why"),
        ("<!-- exit: 1 -->\nWords.\n", "page.md:2: exit: stands before no block"),
        ("<!-- exit: 1 -->\n", "page.md: exit: stands before no block"),
        ("<!-- exit: 1 -->\n```yaml\na: 1\n```\n", "exit: is for blocks of sh and console"),
        ("```bash\nhelix doctor\n```\n", "stand in a block of sh or console (got 'bash')"),
        ("```text\n$ helix doctor\n```\n", "stand in a block of sh or console (got 'text')"),
        ("```\ncd x && helix doctor\n```\n", "stand in a block of sh or console (got '')"),
    ],
)
def test_a_block_that_does_not_say_how_it_is_held_is_told(text: str, told: str) -> None:
    with pytest.raises(PageError) as raised:
        blocks("page.md", text)
    assert told in str(raised.value)


def test_output_before_the_first_command_of_a_session_is_told() -> None:
    with pytest.raises(PageError, match="a console block begins with"):
        commands(block("helix doctor\n"))


@pytest.mark.parametrize(
    ("shown", "printed", "same"),
    [
        (("1 run",), "1 run\n", True),
        (("1 run",), "1 run\n\n", True),
        (("1 run",), "2 runs\n1 run\n", False),
        (("… run",), "21 run\n", True),
        (("… run",), "2\n1 run\n", False),
        (("first", "…"), "first\nsecond\nthird\n", True),
        (("…", "third"), "first\nsecond\nthird\n", True),
        (("first", "third"), "first\nsecond\nthird\n", False),
        (("a.c",), "abc\n", False),
    ],
)
def test_only_what_is_marked_may_differ(shown: tuple[str, ...], printed: str, same: bool) -> None:
    assert shows(shown, printed) is same


def test_every_helix_of_a_line_is_found_and_nothing_else() -> None:
    line = "A=1 helix doctor | cat && mv helix b && helix report RUN > 'a; helix b'"
    assert typed.helix_words(line) == [["doctor"], ["report", "RUN"]]


GOOD = (
    "evaluate subject.traces=runs/ criteria.file=suite.yaml judge=litellm judge.model=NAME",
    "evaluate -m subject.traces=runs/ criteria.file=suite.yaml sampling.seed=1,2",
    "evaluate --help",
    "audit injection --traces runs/ --suite suite.yaml judge=none",
    "audit diff A B --json",
    "report RUN report.out=[junit] -v",
    "report merge A B --out whole",
    "cache prune --older-than 30 --yes",
    "schema trace",
)
WRONG = (
    ("evaluat subject.traces=runs/", "there is no helix evaluat"),
    ("evaluate subject.traces=runs/ criteria.file=suite.yaml judge.modle=m", "judge.model"),
    ("evaluate subject.traces=runs/ criteria.file=suite.yaml judge=litelm", "judge must be one of"),
    ("evaluate subject.traces=runs/ criteria.file=s.yaml limits.retries=often", "limits.retries"),
    ("evaluate subject.traces=runs/ criteria.file=suite.yaml --fast", "--fast"),
    ("evaluate criteria.file=suite.yaml", "subject.traces is missing"),
    ("evaluate -m subject.traces=r criteria.file=s.yaml sampling.seed=1,x", "job 1"),
    ("audit injection --traces runs/ --suite suite.yaml judge=non", "judge must be one of"),
    ("audit injection --traces runs/", "required: --suite"),
    ("audit diff A B --jsn", "unrecognized arguments: --jsn"),
    ("report RUN report.uot=[junit]", "report.out"),
    ("report merge A B", "required: --out"),
    ("cache frob", "invalid choice: 'frob'"),
    ("cache prune --older-than soon", "must be a whole number"),
    ("schema no-such", "unknown schema"),
)


@pytest.mark.parametrize("line", GOOD)
def test_a_command_that_there_is_has_nothing_wrong(line: str) -> None:
    assert typed.whole(line.split()) is None


@pytest.mark.parametrize(("line", "told"), WRONG, ids=[line for line, _ in WRONG])
def test_what_is_wrong_with_a_command_is_told(line: str, told: str) -> None:
    assert told in str(typed.whole(line.split()))


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("evaluate", None),
        ("evaluate judge=none", None),
        ("evaluate judge.modle=NAME", "did you mean"),
        ("evaluate limits.retries=N", None),
        ("cache prune --older-than DAYS", None),
        ("cache export --uot FILE", "unrecognized arguments: --uot"),
        ("labels serve", None),
        ("labels serv", "invalid choice: 'serv'"),
        ("criteria test …", None),
        ("schema NAME", None),
        ("frob", "there is no helix frob"),
    ],
)
def test_a_command_in_a_sentence_may_lack_what_it_needs(line: str, told: str | None) -> None:
    wrong = typed.part(line.split())
    assert wrong is None if told is None else told in str(wrong)


@pytest.mark.parametrize(
    ("word", "told"),
    [
        ("judge=none", None),
        ("judge=", None),
        ("judge=noone", "unknown judge 'noone'"),
        ("limits.retries=3", None),
        ("limits.retries=some", "limits.retries"),
        ("limits.retrys=3", "unknown key"),
        ("report.out=[…]", None),
        ("gate.exit=advisory", None),
        ("gate.exit=silent", "gate.exit"),
        ("subject.version=2.1", None),
        ("OTHER=1", None),
        ("success=false", None),
    ],
)
def test_an_override_in_a_sentence_is_held_to_the_configuration(
    word: str, told: str | None
) -> None:
    wrong = typed.override(word)
    assert wrong is None if told is None else told in str(wrong)
