"""What checks may know of all traces together, gathered in one reading (METHOD 27)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from helix.model.manifest import LoadFailure
from helix.model.trace import Trace
from helix.registry import CheckContext


@dataclass(slots=True)
class Batch:
    """Tools, roles and ids of the traces that were read, and what could not be read."""

    inventory: frozenset[str] = frozenset()
    tools: set[str] = field(default_factory=set)
    roles: set[str] = field(default_factory=set)
    ids: list[str] = field(default_factory=list)
    failures: list[LoadFailure] = field(default_factory=list)

    def watch(self, items: Iterable[Trace | LoadFailure]) -> Iterator[Trace]:
        """Yield the traces of a reading, noting what they hold."""
        for item in items:
            if isinstance(item, LoadFailure):
                self.failures.append(item)
                continue
            self.ids.append(item.id)
            self.tools.update(o.name for o in item.tools())
            self.roles.update(m.role for m in item.transcript if not m.control)
            yield item

    @property
    def context(self) -> CheckContext:
        """What a check may know besides one trace."""
        return CheckContext(self.inventory, frozenset(self.tools), frozenset(self.roles))
