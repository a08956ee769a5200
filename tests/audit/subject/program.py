"""A small program that writes a run directory; each switch plants one nondeterminism into it.

`python program.py SWITCH OUT` reads the run in `template/` and the folder `notes/`.
"""

import datetime
import json
import locale
import os
import random
import sys
from pathlib import Path

TOOLS = ("look", "book", "cancel", "move", "pay", "call", "mail", "note", "seat", "close")


def read(name):
    text = Path("template", name).read_text(encoding="utf-8")
    return [json.loads(x) for x in text.splitlines()] if name.endswith("l") else json.loads(text)


def write(out, name, value):
    lines = value if name.endswith("l") else [value]
    text = "".join(json.dumps(line) + "\n" for line in lines) if value != "[" else value
    Path(out, name).write_text(text, encoding="utf-8")


def seed(run):
    for entry in run["manifest.jsonl"]:
        entry["route"] = f"cohort-{random.randrange(1000)}"


def hash_order(run):
    run["subject.json"]["tools"] = [{"name": name} for name in {*TOOLS}]


def clock(run):
    run["subject.json"]["version"] = datetime.datetime.now(datetime.UTC).isoformat()


def path(run):
    run["scorecard.json"]["gate"]["gaps"] += [f"nothing stands in {os.getcwd()}/replies"]


def listing(run):
    lines = {line["trajectoryId"]: line for line in run["verdicts.jsonl"]}
    run["verdicts.jsonl"] = [lines[name] for name in os.listdir("notes")]


def float_text(run):
    share = {name: 1 / number for number, name in enumerate(TOOLS, 3)}
    run["scorecard.json"]["grounded"]["share"] = sum(share[name] for name in {*TOOLS})


def in_locale(run):
    encoding = locale.getencoding()
    purpose = "une table près de la fenêtre"
    run["subject.json"]["purpose"] = purpose.encode(encoding, "replace").decode(encoding)


def answer(run):
    for line in run["verdicts.jsonl"]:
        for verdict in line["verdicts"]:
            if verdict.get("producedBy", "judge") == "judge":
                verdict["result"] = random.choice(("pass", "fail"))
                line["denseMap"][verdict["criterionId"]] = verdict["result"]


def dropped_parameter(run):
    answer(run)
    judge = run["scorecard.json"]["judge"]
    judge["effective"] = dict(judge["requested"])
    judge["requested"]["seed"] = 7


def time_zone(run):
    here = datetime.datetime.now().astimezone().utcoffset()
    run["subject.json"]["scope"] = f"{here.total_seconds() / 3600:g} hours"


def crash(run):
    if locale.getencoding().lower().replace("-", "") != "utf8":
        sys.exit("cannot write é here")


def only_together(run):
    if os.environ["TZ"] != "UTC0" and os.environ["PYTHONHASHSEED"] != "0":
        run["subject.json"]["scope"] = "elsewhere"


def damage(run):
    if os.environ["TZ"] != "UTC0":
        run["manifest.jsonl"] = "["


def interpreter(run):
    run["subject.json"]["scope"] = os.environ.get("OTHER", "none")


def executor(run):
    run["subject.json"]["scope"] = sys.argv[3]


def unnamed_gap(run):
    run["scorecard.json"]["criteria"][0]["gate"] = "incomplete"


PLANTS = {
    "clean": lambda run: None,
    "seed": seed,
    "hash-order": hash_order,
    "clock": clock,
    "path": path,
    "listing-order": listing,
    "float-text": float_text,
    "locale": in_locale,
    "dropped-parameter": dropped_parameter,
    "answer": answer,
    "time-zone": time_zone,
    "crash": crash,
    "together": only_together,
    "damage": damage,
    "interpreter": interpreter,
    "executor": executor,
    "unnamed-gap": unnamed_gap,
}
NAMES = (
    "plan.json",
    "manifest.jsonl",
    "verdicts.jsonl",
    "decisions.jsonl",
    "failures.jsonl",
    "candidates.jsonl",
    "subject.json",
    "scorecard.json",
)


def main(switches, out, *more):
    found = {name: read(name) for name in NAMES}
    for switch in switches.split(","):
        PLANTS[switch](found)
    os.mkdir(out)
    for name in NAMES:
        write(out, name, found[name])


if __name__ == "__main__":
    main(*sys.argv[1:])
