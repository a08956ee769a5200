"""Discovery: criteria that emerge from traces, with the evidence that they came from."""

from helix.discover.run import Discovered, discover

__all__ = ["Discovered", "discover"]
