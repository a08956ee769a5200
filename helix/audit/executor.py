"""Carries one execution out in a process of its own, and writes down who did (METHOD 71).

`python -I executor.py TASK` is given a task as JSON and imports nothing of Helix: what is audited
may be another program, under another interpreter. The environment is this process's own, so that
no secret of it is ever written down.
"""

from __future__ import annotations

import json
import os
import secrets
import signal
import subprocess
import sys
import threading
import time
from typing import Any


def execute(task: dict[str, Any]) -> dict[str, Any]:
    """Run the task's command to its end and return the record of the execution."""
    record: dict[str, Any] = {
        "schemaVersion": "1.0",
        "identity": secrets.token_hex(16),
        "name": task["name"],
        "varied": task["varied"],
        "command": task["command"],
        "platform": sys.platform,
        "startedAt": time.time(),
        "exitCode": None,
        "failed": None,
    }
    with open(task["stdout"], "wb") as out, open(task["stderr"], "wb") as err:
        try:
            done = subprocess.run(
                task["command"],
                cwd=task["folder"],
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=err,
                check=False,
            )
            record["exitCode"] = done.returncode
        except OSError as error:
            record["failed"] = f"{task['command'][0]} cannot be started: {error.strerror}"
    record["endedAt"] = time.time()
    return record


def _end_with_audit() -> None:
    """End the whole session when standard input ends, which the audit alone holds open.

    An audit that is killed leaves nothing behind that would write where the next one executes.
    """
    os.read(0, 1)
    if hasattr(os, "killpg") and os.getpgrp() == os.getpid():
        os.killpg(os.getpid(), signal.SIGKILL)


def main() -> None:
    """Carry out the task that is named on the command line; its record is written at the end."""
    threading.Thread(target=_end_with_audit, daemon=True).start()
    task = json.loads(sys.argv[1])
    record = execute(task)
    part = task["record"] + ".part"
    with open(part, "w", encoding="utf-8") as file:
        json.dump(record, file, indent=2, sort_keys=True)
        file.write("\n")
    os.replace(part, task["record"])


if __name__ == "__main__":
    main()
