"""Printing without a browser, with one that fails, and with one that never ends: a message, never a
hang.
"""

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.webapp.builders import T0, job
from tests.webapp.reports.stories import told
from tests.weir_settings import WeirSettings
from webapp.reports.document import Report
from webapp.reports.renderers import pdf

pytestmark = pytest.mark.django_db


@pytest.fixture
def browser(weir: WeirSettings, tmp_path: Path) -> Callable[[str], None]:
    """What the script does instead of a browser; the file to print to is ``$target``."""

    def install(script: str) -> None:
        path = tmp_path / "browser"
        target = (
            'for word in "$@"; do case $word in --print-to-pdf=*) target=${word#*=};; esac; done'
        )
        path.write_text(f"#!/bin/sh\n{target}\n{script}\n")
        path.chmod(0o755)
        weir(chromium=str(path))

    return install


@pytest.fixture
def document(db: None) -> Report:
    return told(job(at=T0))


def test_what_it_prints_is_the_pdf(browser, document):
    browser('echo "%PDF-1.4" > "$target"')
    assert pdf.render(document) == b"%PDF-1.4\n"


def test_one_that_prints_nothing_is_quoted(browser, document):
    browser("echo 'cannot open display' >&2; exit 1")
    with pytest.raises(pdf.NoPdf, match="Chromium printed nothing: cannot open display"):
        pdf.render(document)


def test_one_that_never_ends_is_ended(browser, document, monkeypatch):
    monkeypatch.setattr(pdf, "WITHIN_S", 1)
    browser("sleep 600")
    with pytest.raises(pdf.NoPdf, match="did not end within 1 s"):
        pdf.render(document)


def test_without_any_the_message_says_what_to_do(no_chromium, document):
    with pytest.raises(
        pdf.NoPdf,
        match=r"There is no no-such-browser on this machine\. Install it, or set WEIR_CHROMIUM",
    ):
        pdf.render(document)


def test_it_learns_no_secret_of_ours(browser, document, monkeypatch, tmp_path):
    monkeypatch.setenv("WEIR_SECRET_KEY", "x" * 60)
    browser(f'env > {tmp_path}/seen; echo "%PDF" > "$target"')
    pdf.render(document)
    assert "WEIR_" not in (tmp_path / "seen").read_text()
