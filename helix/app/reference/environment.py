"""The environment variables that Helix reads."""

from __future__ import annotations

from helix.app.failures import DEBUG_VARIABLE
from helix.app.reference.markdown import code, table
from helix.registry.loading import RESTRICT_VARIABLE

VARIABLES = {
    RESTRICT_VARIABLE: "entry points of plugins that may be loaded, with commas between them; set "
    "and empty it allows none",
    DEBUG_VARIABLE: "1 prints the whole traceback of an error that Helix did not expect",
    "CI": "where it is set, nothing is coloured and progress is told in lines",
    "COLUMNS": "how many columns there are to write to, whatever the terminal says",
    "COMP_LINE": "set by the shell while it completes a command",
    "NO_COLOR": "where it is set, nothing is coloured",
    "PYTHONIOENCODING": "the encoding of what is printed; UTF-8 where no terminal reads it",
    "TERM": "dumb tells progress in lines",
}


def body() -> str:
    """Return the variables, and what is told of keys."""
    rows = [[code(name), text] for name, text in sorted(VARIABLES.items())]
    return (
        f"{table(['variable', 'meaning'], rows)}\n\n"
        "The key of a provider is read from the variable that `judge.api_key_env` names, or from "
        "the one that the provider's own client reads. What the environment holds under a name "
        "that speaks of a key, token, secret or password is taken out of all that Helix writes or "
        "prints."
    )
