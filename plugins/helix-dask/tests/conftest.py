"""The plugin's tests run beside Helix's own, whose servers and judges they use."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[3]))
