"""The report renderers that Helix brings: each projects a `RunReport`, or a `DiscoveryReport`."""

from __future__ import annotations

from collections.abc import Callable

from helix.registry import Renderer, hookimpl
from helix.reports.discovered import print_discovery
from helix.reports.discovery_documents import discovery_json, discovery_markdown
from helix.reports.discovery_page import render_discovery
from helix.reports.documents import render_json, render_markdown
from helix.reports.html import render_html
from helix.reports.terminal import render_terminal

VERSION = "1"


@hookimpl
def helix_register_renderers(register: Callable[[Renderer], None]) -> None:
    """Register the built-in renderers; `terminal` is the one that writes to standard output."""
    register(Renderer("terminal", VERSION, None, render_terminal, print_discovery))
    register(Renderer("html", VERSION, "report.html", render_html, render_discovery))
    register(Renderer("json", VERSION, "report.json", render_json, discovery_json))
    register(Renderer("markdown", VERSION, "report.md", render_markdown, discovery_markdown))
