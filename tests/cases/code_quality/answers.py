"""The recorded answers of a reader and of a second one, for `judge.script`."""

import json
from pathlib import Path

HERE = Path(__file__).parent


def judge(request):
    """Return what was written down about this change, by the one who is asked."""
    said = json.loads((HERE / f"{request.unit.role}.json").read_text(encoding="utf-8"))
    return {"nonce": request.nonce, **said}
