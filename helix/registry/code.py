"""Running a Python file that a configuration names: the file as it stands, never its bytecode."""

from __future__ import annotations

import importlib.machinery
import importlib.util
import sys
from pathlib import Path
from types import CodeType, ModuleType


class _AsItStands(importlib.machinery.SourceFileLoader):
    """Compiles anew: kept bytecode passes for that of any file of the same second and size."""

    def get_code(self, fullname: str) -> CodeType:
        return self.source_to_code(self.get_data(self.path), self.path)


def module_of(path: Path, name: str) -> ModuleType:
    """Run a Python file and return its module, registered as `name` so that dataclasses work.

    Raises whatever the file raises, SystemExit too; then nothing stays registered.
    """
    spec = importlib.util.spec_from_file_location(name, path, loader=_AsItStands(name, str(path)))
    assert spec is not None and spec.loader is not None
    module = sys.modules[name] = importlib.util.module_from_spec(spec)
    try:
        spec.loader.exec_module(module)
    except BaseException:
        del sys.modules[name]
        raise
    return module
