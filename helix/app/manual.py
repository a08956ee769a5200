"""The manual page of a Hydra command; its keys and groups are read from conf/."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator

from helix.app.conf import Remark, groups, remarks
from helix.app.fitting import fitted

WIDTH = 80
COLUMN = 37
NARROW = 72
"""Below this many columns a key stands above what is said of it."""

EVALUATE = """\
helix evaluate - adjudicate every criterion of a suite on every trace

SYNOPSIS
  helix evaluate subject.traces=PATH criteria.file=SUITE.yaml [KEY=VALUE | GROUP=CHOICE ...]
  helix evaluate -m KEY=A,B ...             one run for each value
  helix evaluate experiment=demo            the demo, with synthetic traces
  helix evaluate --cfg job ...              print the composed configuration and run nothing

READS
  Traces: files, folders, globs or standard input (-), in any format that `helix plugins` lists.
  A suite: one YAML file with `criteria:`; `helix criteria lint SUITE` checks it.

WRITES
  hydra.run.dir (outputs/evaluate/TIME): plan.json, manifest.jsonl, subject.json,
  verdicts.jsonl, scorecard.json, decisions.jsonl, failures.jsonl, the reports, and runmeta.json
  on how the execution went. A sweep writes one numbered folder per job below hydra.sweep.dir.
  paths.state (.helix): the reply cache. A run that was stopped goes on from it.
  Results go to standard output, messages to standard error.

EXIT CODES
  0    the gate passes           3  incomplete: something that gates is not decided
  1    the gate fails            4  internal error or infrastructure
  2    usage or configuration    5  waiting for dispatched verdicts
  130  interrupted
  gate.exit=advisory exits 0 where it would be 1 or 3. A sweep exits with its worst code,
  in the order 130, 4, 2, 1, 5, 3, 0.

OPTIONS
  Words may come in any order.
  -q, --quiet           the gate, the counts and the paths alone: report.verbosity=quiet
  -v, --verbose         all that fails or is undecided, in full: report.verbosity=verbose
  -m, --multirun        sweep over values separated by commas
  -c, --cfg job|hydra|all   print the configuration; with --resolve, its interpolations too
  -i, --info [WHAT]     print what was composed from where: all, config, defaults, searchpath ...
  -cd, --config-dir DIR add a folder with config groups of your own
  -sc, --shell-completion   eval "$(helix -sc install=bash)"
  --hydra-help          Hydra's own options

VALUES
  Text keeps its characters: subject.traces='runs (1)/día#2.json' needs quotes for the shell only.
  A list is a,b or [a,b] (paths: [a,b] only). null unsets a key that may be unset.
  With -m a comma separates the values of a sweep; KEY="'a,b'" is one text with a comma.
  hydra.run.dir, hydra.sweep.dir and paths.state take any folder.
"""

EXAMPLES = """\
EXAMPLES
  helix evaluate subject.traces=runs/ criteria.file=suite.yaml
  helix evaluate subject.traces='runs/*.jsonl' criteria.file=suite.yaml gate=rate
  helix evaluate subject.traces=- criteria.file=suite.yaml < traces.jsonl
  helix evaluate subject.traces=runs/ criteria.file=suite.yaml select.criteria=C-1,C-2
  helix evaluate -m sampling.seed=1,2,3 sampling=random sampling.n=50 experiment=demo
"""


VALIDATE = """\
helix validate - hold a judge's verdicts against people's labels

SYNOPSIS
  helix validate validation.labels=LABELS.jsonl subject.traces=PATH criteria.file=SUITE.yaml ...
  helix validate validation.labels=LABELS.jsonl validation.run=RUN
  helix validate validation.anchors=ANCHORS.jsonl ...    has the judge drifted?

READS
  Labels: one JSON object a line, {trace, criterion, label, rater}; `helix labels` makes them.
  With validation.run a finished run; else everything that `helix evaluate` reads, and it
  evaluates first, from the reply cache where it can.

WRITES
  hydra.run.dir (outputs/validate/TIME): validation.json, disagreements.jsonl, and the run.
  paths.state/validation (.helix/validation): the standing of each criterion under this judge,
  which later runs show and gate by; the ledger of test splits; the readings of anchors.

SPLITS
  train 15 %, dev 42.5 %, test 42.5 % of the traces, by a hash of validation.seed and trace id.
  dev is the default and gives no standing. test gives one, once: a second use for the same
  criterion and judge is refused, unless validation.force=true, which is recorded. all is for
  labels that were held out as a whole, and counts as test.

EXIT CODES
  0    the work was done         4  internal error or infrastructure
  2    usage or configuration    5  waiting for dispatched verdicts
  130  interrupted
"""

VALIDATE_EXAMPLES = """\
EXAMPLES
  helix validate validation.labels=labels.jsonl experiment=demo
  helix validate validation.labels=labels.jsonl validation.run=outputs/evaluate/RUN
  helix validate validation.labels=[ann.jsonl,bo.jsonl] validation.adjudicated=final.jsonl \\
    validation.split=test validation.run=outputs/evaluate/RUN
  helix validate validation.labels=labels.jsonl validation.run=A validation.against=B
"""

BUILD_EVALS = """\
helix build-evals - ask every row by itself, and write each row's judge and the suite

SYNOPSIS
  helix build-evals subject.traces=PATH criteria.file=SUITE.yaml judge=NAME judge.model=MODEL ...

READS
  What `helix evaluate` reads. Rows of class code are decided by code; each other row is asked in
  a request of its own, which shows the part of the trace that its judge_inputs select.

WRITES
  hydra.run.dir (outputs/build-evals/TIME): all that `helix evaluate` writes, and
  suite.yaml                the rows of this run, as a criteria file
  judges.jsonl              of each judged row the fixed prompt and its digest, its conditions, its
                            few-shot, and verdicts on TRAIN traces that could become few-shot
  criterion-verdicts.jsonl  one verdict of a judged row on a trace per line

EXIT CODES
  Those of `helix evaluate`.
"""

BUILD_EVALS_EXAMPLES = """\
EXAMPLES
  helix build-evals subject.traces=runs/ criteria.file=suite.yaml judge=dispatch judge.model=MODEL
  helix build-evals subject.traces=runs/ criteria.file=suite.yaml judge=replay judge.dir=replies
"""

DISCOVER = """\
helix discover - find what fails in traces, and criteria that see it again

SYNOPSIS
  helix discover subject.traces=PATH [KEY=VALUE | GROUP=CHOICE ...]
  helix discover subject=outreach                         the demo's traces, by code alone
  helix discover subject=outreach judge=dispatch judge.model=NAME   have them read as well

READS
  Traces, in any format that `helix plugins` lists; no suite and no labels. Code looks at every
  chosen trace; where a judge is named, it determines what became of each, batch by batch, until
  the last traces brought no new kind of failure. The chosen traces are held in memory.

WRITES
  hydra.run.dir (outputs/discover/TIME):
  determinations.jsonl      what became of each trace, what was detected and what shows it
  categories.json           the kinds of failure with k of n traces, and where each goes
  criteria.suite.yaml       the criteria, as a suite; a check is kept as observed only if it fires
                            on broken traces and on no healthy one
  fixtures/                 traces on which each check fires and passes
  failures.jsonl            cut recordings, fixables, infrastructure: for diagnostics
  saturation.json           new kinds as traces are examined
  report.html               what fails and where it goes, with evidence; report.out names more
  discovery.json            all of it; plan.json, manifest.jsonl, subject.json, runmeta.json
  paths.state (.helix/living-suite): the living suite, which only grows; discover.living=false
  leaves it alone.

EXIT CODES
  0    the work was done         4  internal error or infrastructure
  2    usage or configuration    5  waiting for dispatched determinations
  130  interrupted
"""

DISCOVER_EXAMPLES = """\
EXAMPLES
  helix discover subject.traces=runs/
  helix discover subject.traces=runs/ sampling=balanced sampling.n=100
  helix discover subject.traces=runs/ subject.purpose='book flights' judge=dispatch judge.model=NAME
"""

BUILD_DATASET = """\
helix build-dataset - put what fails or is undecided in runs into a dataset with splits

SYNOPSIS
  helix build-dataset dataset.name=NAME dataset.runs=[RUN,RUN]
  helix build-dataset dataset.name=NAME dataset.pick=[ID] subject.traces=PATH
  helix build-dataset dataset.name=NAME dataset.dimensions='{persona:[a,b],task:[c,d]}'

READS
  Finished runs of evaluate, build-evals, validate and discover, and the traces that they were
  made of, where the runs say they are; subject.traces=PATH says where they are now.
  Rows: cells that fail, cells that the trace leaves undecided, what a judge saw without a
  criterion for it, picks. What an outage, a budget or a cut recording left undecided is counted.

WRITES
  paths.state/datasets/NAME (.helix/datasets/NAME): traces/SPLIT.jsonl in canonical form,
  rows.jsonl, tasks.jsonl, labels.jsonl, dataset.json. A second call adds; nothing is dropped.
  hydra.run.dir (outputs/build-dataset/TIME): added.jsonl, what is new.

SPLITS
  train 15 %, dev 42.5 %, test 42.5 % of the traces, by a hash of dataset.seed and trace id, as
  helix validate splits labels: nothing ever moves. passing in dataset.include adds passing cells,
  of each criterion and split as many as fail.

EXIT CODES
  0    the work was done         4  internal error or infrastructure
  2    usage or configuration    130  interrupted
"""

BUILD_DATASET_EXAMPLES = """\
EXAMPLES
  helix build-dataset dataset.name=desk dataset.runs=outputs/evaluate/RUN
  helix build-dataset dataset.name=desk dataset.runs=outputs/evaluate/RUN dataset.pick='desk-*' \\
    dataset.include=[failing,passing] dataset.labels=labels.jsonl
  helix evaluate subject.traces=.helix/datasets/desk/traces/dev.jsonl criteria.file=suite.yaml
"""

IMPROVE = """\
helix improve - measure an agent over repeats, ask for a change, and measure it again

SYNOPSIS
  helix improve improve.subject=command improve.command=[PROGRAM,...] improve.cases=CASES.jsonl \\
    improve.subject_files=['agent/**'] criteria.file=SUITE.yaml ...
  helix improve improve.cases=[ID,ID] criteria.file=SUITE.yaml ...    wait for recorded traces

  The same command goes on where the loop stands: after an interruption, and after somebody
  recorded traces, answered dispatched questions or wrote a response.

HOW IT GOES
  1. Each case is run improve.repeats times, and each run's traces are evaluated by themselves.
  2. The spread: no cell may vary by more than improve.max_variance, and every case needs every
     repeat. Where cells vary, the same traces are judged again, so that an agent that varies is
     told from a judge that does.
  3. The accuracy: passes over all cells without na. It is measured once the spread has passed.
  4. What fails, and what varies because the agent does, becomes a change request. A judge that
     varies and a cell without evidence go to calibration (helix calibrate).
  5. The response: amended, and everything is measured anew; or rejected, and the other target is
     asked for, agentspec or impl. An amendment after which nothing has changed is none.
  Helix never edits the agent. It stops at full green, and after improve.max_swings,
  improve.max_minutes at work, or improve.streak rounds without an improvement of the convergence
  delta: cases that flap, then what accuracy lacks.

SUBJECTS AND ENGINEERS
  command    a program per case: the case as JSON on standard input, the trace on standard output
             or in the file {out}. As engineer: the request on standard input, the response on
             standard output or in the file {answer}.
  python     a function of FILE.py, each call in a fresh process: a case in, a trace out; as
             engineer a request in, a response out.
  directory  waits for traces in SWING/traces/REPEAT of the loop, or in improve.dir. As engineer:
             waits for the response as a file.
  human      the same, and writes the inputs of the cases down.
  A program is started without a shell, and ended after improve.case_s or improve.engineer_s. A
  case whose program fails is incomplete, and no failure of the agent.

WRITES
  hydra.run.dir (outputs/improve/ID):
  swings.jsonl                       every step, one a line; nothing is taken back
  swing-N/traces/repeat-I            the fresh traces
  swing-N/repeat-I, swing-N/again-I  run directories, for helix report and helix calibrate
  swing-N/request-K                  request.json, request.md, response.json
  improve.html, .md, .json           how the loop stands; helix schema improvement
  paths.state (.helix): the reply cache and the calibration log.

EXIT CODES
  0    full green                3  incomplete: what is left cannot be measured
  1    stopped without           4  internal error or infrastructure
  2    usage or configuration    5  waiting for traces, verdicts or a response
  130  interrupted
"""

IMPROVE_EXAMPLES = """\
EXAMPLES
  helix improve improve.subject=python improve.call=agent.py:run improve.cases=cases.jsonl \\
    improve.subject_files=[agent.py] criteria.file=suite.yaml
  helix improve improve.subject=command improve.command='[python,agent.py,--seed,"{repeat}"]' \\
    improve.cases=cases.csv improve.subject_files=[agent.py] criteria.file=suite.yaml
  helix improve improve.id=desk improve.cases=[desk-1,desk-2] improve.repeats=3 \\
    criteria.file=suite.yaml
"""

AUDIT = """\
helix audit - execute one thing several times, and say what varies that should not

SYNOPSIS
  helix audit subject.traces=PATH criteria.file=SUITE.yaml [KEY=VALUE | GROUP=CHOICE ...]
  helix audit audit.runs=[RUN,RUN]                 finished runs instead
  helix audit audit.command=[PROGRAM,{out}]        any program that writes a run to {out}
  helix audit diff A B                             two runs, place by place
  helix audit injection --traces PATH --suite FILE   attacks planted into copies of traces
  helix audit variance RUN ...                     how far repeats agree

DOES
  Executes helix evaluate with the same settings, each time in a process and a folder of its own:
  once as it is, then under another hash seed, time zone, locale, working directory, order of
  folders and concurrency. Where the two differ after masking, it repeats the first as it was and
  then changes one condition at a time, so that each difference gets the name of its mechanism.
  A difference is never part of the gate. Byte identity needs recorded replies (judge=replay) or
  the reply cache, which all executions share.

PROGRAMS
  In audit.command {out} is where the run goes, {python} the interpreter, {concurrency} and
  {executor} what varies. What stands in the working directory is there under the same names:
  audit.inputs as copies, all else as links.

WRITES
  hydra.run.dir (outputs/audit/TIME): audit.json and audit.md; executions/N/run with each run,
  execution.json with who made it, stdout.txt and stderr.txt.

EXIT CODES
  0    nothing differs, and all tracked defects hold
  1    something differs, or a tracked defect does not hold
  2    usage or configuration
  3    it could not be measured: the first execution left no run, or a condition was not checked
  4    internal error            130  interrupted
"""

AUDIT_EXAMPLES = """\
EXAMPLES
  helix audit experiment=demo
  helix audit subject.traces=runs/ criteria.file=suite.yaml judge=replay judge.dir=replies
  helix audit experiment=demo audit.pythons=[python3.12] audit.executors=[processes]
  helix audit audit.runs=[outputs/evaluate/A,outputs/evaluate/B] audit.defects=defects.yaml
  helix audit audit.command=[{python},agent_eval.py,{out}] audit.inputs=[data] audit.times=3
"""

PAGES = {
    "audit": (AUDIT, AUDIT_EXAMPLES),
    "build-dataset": (BUILD_DATASET, BUILD_DATASET_EXAMPLES),
    "build-evals": (BUILD_EVALS, BUILD_EVALS_EXAMPLES),
    "discover": (DISCOVER, DISCOVER_EXAMPLES),
    "evaluate": (EVALUATE, EXAMPLES),
    "improve": (IMPROVE, IMPROVE_EXAMPLES),
    "validate": (VALIDATE, VALIDATE_EXAMPLES),
}
OWN_SECTIONS = {
    "audit": "audit",
    "dataset": "build-dataset",
    "discover": "discover",
    "improve": "improve",
    "validation": "validate",
}
"""Sections of the configuration that one command alone reads."""


def page(command: str, width: int = WIDTH) -> str:
    """Return the manual page of a command, for a terminal of so many columns."""
    head, examples = PAGES[command]
    tables = [*_groups(width), "", *_keys(command, width)]
    return "\n".join([fitted(head, width), *tables, fitted(examples, width)])


def _groups(width: int) -> Iterator[str]:
    yield "GROUPS (GROUP=CHOICE takes a file of conf/)"
    for group, options in groups().items():
        yield from _entry(group, ", ".join(options), width)


def _keys(command: str, width: int) -> Iterator[str]:
    title = "KEYS (KEY=VALUE; the default in parentheses, null or empty if there is none)"
    yield fitted(title, width)
    told = [(remark.key.partition(".")[0], remark) for remark in remarks()]
    own = [pair for pair in told if OWN_SECTIONS.get(pair[0]) == command]
    last = ""
    for section, remark in [*own, *(pair for pair in told if pair[0] not in OWN_SECTIONS)]:
        if section != last:
            last = section
            yield ""
            if section == "verifier":
                yield "  verifier.KEY takes every KEY that judge.KEY takes, and:"
        yield from _entry(remark.key, _said(remark), width)
    yield ""


def _said(remark: Remark) -> str:
    default = {"???": " (required)"}.get(remark.default, f" ({remark.default})")
    return remark.text + ("" if remark.default in ("null", "[]", "{}") else default)


def _entry(name: str, text: str, width: int) -> list[str]:
    if width < NARROW:
        lines = textwrap.wrap(text, width - 6, break_long_words=False, break_on_hyphens=False)
        return [f"  {name}", *(" " * 6 + line for line in lines)]
    head = f"  {name:<{COLUMN - 2}}"
    lines = textwrap.wrap(text, width - COLUMN, break_long_words=False, break_on_hyphens=False)
    return [head + lines[0], *(" " * COLUMN + line for line in lines[1:])]
