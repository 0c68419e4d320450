"""A report as one self-contained HTML file: styles, plotly.js and data inside, nothing fetched
from anywhere.

Its own content policy allows no address at all, and scripts only by their hash: whatever a job is
called, only ours run.
"""

import base64
import hashlib
import json
from collections.abc import Mapping
from functools import cache
from pathlib import Path

from django.conf import settings
from django.contrib.staticfiles import finders
from django.template.loader import render_to_string
from django.utils.safestring import SafeString, mark_safe

from webapp.reports.document import Report
from webapp.reports.presentation import context
from webapp.reports.renderers.figures import DrawnChart, charts_of

STYLES = ("css/tokens.css", "css/base.css", "css/reports.css", "css/report_file.css")
SCRIPTS = (
    "vendor/plotly/plotly-cartesian.min.js",
    "js/figures.js",
    "js/scrolling.js",
    "js/report.js",
)


def render(report: Report) -> str:
    charts = charts_of(report)
    return render_to_string(
        "reports/file.html",
        {
            **context(report, settings.WEIR.public_url),
            "charts": charts,
            "figures": _data(charts),
            "styles": [_inline(name) for name in STYLES],
            "scripts": [_inline(name) for name in SCRIPTS],
            "policy": _policy(),
        },
    )


def _data(charts: Mapping[str, DrawnChart]) -> SafeString:
    """For a ``<script type="application/json">``: no ``<`` is left that could end it."""
    figures = {key: drawn.figure for key, drawn in charts.items()}
    text = json.dumps(figures, ensure_ascii=False, separators=(",", ":"))
    escaped = text.replace("<", "\\u003c").replace("\u2028", "\\u2028")
    return mark_safe(escaped.replace("\u2029", "\\u2029"))  # noqa: S308 - escaped above


@cache
def _inline(name: str) -> SafeString:
    """A file of ours. None of them closes its own element; a test says so."""
    path = finders.find(name)
    if not isinstance(path, str):
        raise FileNotFoundError(f"The static file {name} is missing from this installation.")
    # shipped with Weir, not anybody's input
    return mark_safe(Path(path).read_text(encoding="utf-8"))  # noqa: S308


@cache
def _policy() -> str:
    hashes = " ".join(f"'sha256-{_sha256(_inline(name))}'" for name in SCRIPTS)
    return (
        f"default-src 'none'; script-src {hashes}; style-src 'unsafe-inline'; img-src data: "
        "blob:; base-uri 'none'; form-action 'none'"
    )


def _sha256(text: str) -> str:
    return base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
