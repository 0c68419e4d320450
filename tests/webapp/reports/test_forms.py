"""Every form of a report: whole, self-contained, and harmless whatever a job is called."""

import base64
import hashlib
import json
import re
from html.parser import HTMLParser

import pytest

from tests.webapp.builders import T0, event, exception, job
from tests.webapp.reports.stories import HOSTILE, expiring, seen, told
from webapp.reports import document_json
from webapp.reports.document import Report
from webapp.reports.renderers import html
from webapp.reports.renderers.html import charts_of
from webapp.reports.texts import TRACE


class Tags(HTMLParser):
    """What a browser would see."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.texts: list[str] = []
        self.feed(page)

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))

    def handle_data(self, data):
        self.texts.append(data)


@pytest.fixture
def document(db) -> Report:
    seen()
    return told(expiring())


@pytest.fixture
def hostile(db) -> Report:
    """Every text that comes from outside is hostile."""
    seen()
    of = expiring(HOSTILE)
    event(of, "tm_heartbeat_timeout", T0, HOSTILE, level="ERROR", host=HOSTILE, vertex_name=HOSTILE)
    exception(of, T0, HOSTILE[:300], task=HOSTILE, stacktrace=HOSTILE, host=HOSTILE)
    return told(of)


def test_a_report_survives_its_way_through_json(hostile):
    assert document_json.from_plain(json.loads(document_json.to_json(hostile))) == hostile


def test_a_document_of_another_version_is_refused(document):
    with pytest.raises(document_json.UnknownVersion):
        document_json.from_plain({**json.loads(document_json.to_json(document)), "version": 99})


def test_the_html_asks_nobody_for_anything(document):
    page = html.render(document)
    tags = Tags(page).tags
    assert [
        tag
        for tag, attributes in tags
        if tag in ("link", "img", "iframe", "object", "base") or "src" in attributes
    ] == []
    policy = next(
        attributes["content"]
        for tag, attributes in tags
        if tag == "meta" and attributes.get("http-equiv")
    )
    assert policy.startswith("default-src 'none'; script-src 'sha256-")
    assert len(page) < 3_000_000


def test_only_scripts_named_by_the_policy_are_in_the_html_and_all_of_them(document):
    page = html.render(document)
    scripts = re.findall(r"<script>(.*?)</script>", page, re.DOTALL)
    hashes = {
        f"'sha256-{base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()}'"
        for script in scripts
    }
    policy = next(
        attributes["content"]
        for tag, attributes in Tags(page).tags
        if tag == "meta" and attributes.get("http-equiv")
    )
    assert hashes == set(re.findall(r"'sha256-[^']+'", policy or ""))


def test_the_html_holds_its_charts_and_their_data(document):
    page = html.render(document)
    keys = list(charts_of(document))
    assert keys == ["checkpoints"]
    data = json.loads(
        re.search(r'<script type="application/json" id="figures">(.*?)</script>', page, re.DOTALL)[
            1
        ]
    )
    assert list(data) == keys
    assert all(f'data-figure="{key}"' in page for key in keys)


def test_a_hostile_name_is_only_text_in_html(hostile):
    page = html.render(hostile)
    found = Tags(page)
    assert [
        attributes
        for tag, attributes in found.tags
        if any(name.startswith("on") for name in attributes)
    ] == []
    assert page.count("<script") == 1 + len(html.SCRIPTS)
    assert "document.title='pwned'" not in "".join(
        text for text in found.texts if "Plotly" in text[:2_000]
    )
    assert "\u202e" not in page
    assert "x" * (TRACE + 1) not in page


def test_a_hostile_name_is_only_text_in_json(hostile):
    assert "<script>document" in json.loads(document_json.to_json(hostile))["title"]
    assert max(len(line) for line in document_json.to_json(hostile).splitlines()) < 4_000


def test_no_form_holds_a_secret_of_an_exception(document):
    for form in (html.render(document), document_json.to_json(document)):
        assert "hunter2-canary" not in form
        assert "refused, password=" in form


def test_a_job_without_anything_has_a_report_too(db):
    seen()
    document = told(job(at=T0, graph=None, configuration=None, checkpoint_config=None, name=None))
    assert "Nothing was found wrong" in html.render(document)
