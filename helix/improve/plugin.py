"""The built-in subject runners, registered through the same hook as everyone's."""

from __future__ import annotations

from collections.abc import Callable

from helix.improve import runners
from helix.registry import SubjectRunner, hookimpl

_RUNNERS = (
    SubjectRunner(
        "command", "1.0", runners.run_command, runners.respond_command, runners.program_ready
    ),
    SubjectRunner("python", "1.0", runners.run_python, runners.respond_python, runners.call_ready),
    SubjectRunner("directory", "1.0", runners.read_directory, runners.read_answer),
    SubjectRunner("human", "1.0", runners.ask_human, runners.read_answer),
)


@hookimpl
def helix_register_subjects(register: Callable[[SubjectRunner], None]) -> None:
    """Register the built-in subject runners."""
    for runner in _RUNNERS:
        register(runner)
