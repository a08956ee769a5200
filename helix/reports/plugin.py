"""The report renderers that Helix brings: each projects a run, some a discovery too."""

from __future__ import annotations

from collections.abc import Callable

from helix.registry import Renderer, hookimpl
from helix.reports.csv import render_csv
from helix.reports.discovered import print_discovery
from helix.reports.discovery_documents import discovery_json, discovery_markdown
from helix.reports.discovery_page import render_discovery
from helix.reports.documents import render_json, render_markdown
from helix.reports.github import render_annotations, render_github
from helix.reports.junit import render_junit
from helix.reports.otel import render_otel
from helix.reports.parquet import render_parquet, require
from helix.reports.sarif import render_sarif
from helix.reports.scale import render_pages
from helix.reports.terminal import render_terminal

VERSION = "1"


@hookimpl
def helix_register_renderers(register: Callable[[Renderer], None]) -> None:
    """Register the built-in renderers; `terminal` is the one that writes to standard output."""
    register(Renderer("terminal", VERSION, None, render_terminal, print_discovery, stream=True))
    register(Renderer("html", VERSION, "report.html", render_pages, render_discovery, stream=True))
    register(Renderer("json", VERSION, "report.json", render_json, discovery_json, stream=True))
    register(
        Renderer("markdown", VERSION, "report.md", render_markdown, discovery_markdown, stream=True)
    )
    for name, filename, render in (
        ("junit", "junit.xml", render_junit),
        ("github", "github.md", render_github),
        ("annotations", None, render_annotations),
        ("sarif", "report.sarif", render_sarif),
        ("csv", "cells.csv", render_csv),
        ("otel", "otel.jsonl", render_otel),
    ):
        register(Renderer(name, VERSION, filename, render, stream=True))
    parquet = Renderer(
        "parquet", VERSION, "cells.parquet", render_parquet, stream=True, ready=require
    )
    register(parquet)
