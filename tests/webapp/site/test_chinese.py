"""Every page in Simplified Chinese: no English is left but names, codes and terms that stay as they
are.
"""

import html
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings
from django.test import Client
from django.utils import translation

from ingest.flink_logs.patterns import KINDS
from tests.attacks.inhabited import inhabit, somebody
from tests.attacks.places import answered, places
from tests.weir_settings import WeirSettings
from webapp.accounts.roles import Role
from webapp.lib.filters import words

LEFT_OUT = (
    "export",
    "healthz",
    "readyz",
    "metrics",
    "schema",
    "documentation",
    "/docs",
    "api-",
)
UNSPOKEN = re.compile(
    r"<(script|style|code|kbd|bdi|pre|textarea)\b.*?</\1>|<!--.*?-->"
    r"""|<(span|td|dt|dd|dl|small|div|th|a|b|p|option|h1)\b[^>]*class="[^"]*\bmono\b[^"]*"[^>]*>.*?</\2>""",
    re.S,
)
"""What is code, a name or an id by its element."""
SPOKEN = re.compile(r"""\s(?:title|placeholder|aria-label)="([^"]*)\"""")
DRAWN = frozenset(
    [
        "text",
        "name",
        "note",
        "title",
        "hovertext",
        "hovertemplate",
        "ticktext",
        "labels",
        "ticksuffix",
    ]
)
TAG = re.compile(r"<[^>]*>")
WORD = re.compile(r"(?<![\w.:/@$#%&=?-])[A-Za-z]{3,}(?![\w.:/=(-])")
CODE = re.compile(r"\S*(?:[/=_{}@]|\w\.\w|::|\w-\w)\S*|\b[A-Z]\w*[A-Z]\w*\b|\"[^\"]*\"|'[^']*'")
"""Paths, options, classes, matchers, ids; abbreviations; what is quoted."""
TERMS = frozenset(
    [
        "weir",
        "flink",
        "spark",
        "redis",
        "barrier",
        "barriers",
        "checkpoint",
        "savepoint",
        "task",
        "tasks",
        "slot",
        "slots",
        "source",
        "sink",
        "token",
        "tokens",
        "pod",
        "pods",
        "webhook",
        "kafka",
        "prometheus",
        "loki",
        "grafana",
        "kubernetes",
        "yarn",
        "hadoop",
        "jdk",
        "jvm",
        "java",
        "python",
        "metaspace",
        "heap",
        "cpu",
        "min",
        "utc",
        "bearer",
        "authorization",
        "english",
        "ctrl",
        "enter",
        "csv",
        "json",
        "html",
        "markdown",
        "pdf",
        "api",
        "rest",
        "url",
        "http",
        "https",
        "shuffle",
        "netty",
        "managed",
        "slack",
        "teams",
        "pagerduty",
        "opsgenie",
        "discord",
        "telegram",
        "microsoft",
        "jira",
        "mattermost",
        "dingtalk",
        "feishu",
        "lark",
        "zulip",
        "webex",
        "email",
        "watermark",
        "windows",
        "watermarks",
        "key",
        "keyed",
        "group",
        "changelog",
        "exactly",
        "once",
        "least",
        "elasticsearch",
        "opensearch",
        "fluent",
        "bit",
        "vector",
        "logstash",
        "opentelemetry",
        "alloy",
        "over",
        "full",
        "gc",
        "region",
        "beat",
        "worker",
        "default",
        "gzip",
        "zstd",
        "operator",
        "subsume",
        "inpool",
        "data",
        "schema",
        "null",
        "true",
        "web",
        "metadata",
        "thanos",
        "cortex",
        "mimir",
        "kerberos",
        "webhooks",
        "standard",
        "union",
        "lucene",
        "reporter",
        "history",
        "server",
        "uri",
        "glob",
        "pattern",
        "info",
        "producer",
        "broker",
        "committer",
        "gate",
        "debloating",
        "jar",
        "compaction",
        "flush",
        "join",
    ]
)
"""Terms of the field that Chinese engineers say in English, and products."""


def spoken(page: str) -> str:
    """Texts and attributes that are read, without names and codes."""
    bare = UNSPOKEN.sub(" ", page.replace("<wbr>", ""))
    return MADE_UP.sub(
        " ", html.unescape(" | ".join([TAG.sub(" | ", bare), *SPOKEN.findall(bare)]))
    )


def drawn(answer: Any) -> Iterator[str]:
    """What a chart says: of its figure, axes, lines and marks, and beside it."""
    if isinstance(answer, dict):
        for key, value in answer.items():
            if key in DRAWN:
                yield from (
                    MADE_UP.sub(" ", TAG.sub(" | ", one))
                    for one in (value if isinstance(value, list) else [value])
                    if isinstance(one, str)
                )
            yield from drawn(value)
    elif isinstance(answer, list):
        for one in answer:
            yield from drawn(one)


def english(text: str, known: frozenset[str]) -> list[str]:
    """Pieces of a page that have an English word in them."""
    found = []
    for piece in text.split("|"):
        words = WORD.findall(CODE.sub(" ", piece))
        if any(word.lower() not in TERMS and word.lower() not in known for word in words):
            found.append(" ".join(piece.split()))
    return found


NAMES = frozenset(
    [
        "oomkilled",
        "evicted",
        "yarn",
        "root",
        "robot",
        "operator",
        "viewer",
        "admin",
        "write",
        "of",
        "enrich",
        "parse",
        "clicks",
        "prod",
        "job",
        "slow",
        "back",
        "pressures",
        "whole",
        "the",
        "heartbeat",
        "timed",
        "known",
        "endpoint",
        "meta",
        "out",
        "olga",
    ]
)
"""Words in names of what is there to be shown, of roles among it, and in lines of logs."""
MADE_UP = re.compile(
    "Its input is full while its output is almost empty, on all 4 subtasks|Profile a slow-enrich "
    "task thread|largest of 4 subtasks|(upstream )?held back|input buffers in use|busy|restart "
    "1|no space|Alert fired: slow-enrich|the whole job|Jira Service Management|incident[.]io",
    re.IGNORECASE,
)
"""What rows of these tests say for themselves, and no rule does; products of several words."""


def test_every_kind_of_log_event_has_words_in_chinese() -> None:
    with translation.override("zh-hans"):
        assert [kind for kind in sorted(KINDS) if words(kind) == kind.replace("_", " ")] == []


@pytest.mark.django_db
def test_no_page_in_chinese_has_english_left(
    home: Path, weir: WeirSettings, tmp_path: Path
) -> None:
    inhabit(tmp_path)
    client = Client()
    client.force_login(somebody(Role.ADMIN, "root"))
    client.cookies[settings.LANGUAGE_COOKIE_NAME] = "zh-hans"
    left: dict[str, list[str]] = {}
    seen = charts = 0
    among = (
        one
        for one in places()
        if not any(part in one.label or part in one.template for part in LEFT_OUT)
    )
    for place, answer in answered(client, among):
        if answer.status_code != 200 or answer.streaming:
            continue
        if "chart" in place.label and "json" in answer.get("Content-Type", ""):
            charts += 1
            said = " | ".join(drawn(answer.json()))
        elif "html" in answer.get("Content-Type", ""):
            seen += 1
            said = spoken(answer.content.decode())
        else:
            continue
        for piece in english(said, NAMES):
            left.setdefault(place.label, []).append(piece)
    assert seen >= 60 and charts >= 10
    assert left == {}


@pytest.mark.django_db
def test_what_a_search_finds_is_said_in_chinese_and_found_in_either_language(
    tmp_path: Path,
) -> None:
    inhabit(tmp_path)
    client = Client()
    client.force_login(somebody(Role.ADMIN, "root"))
    client.cookies[settings.LANGUAGE_COOKIE_NAME] = "zh-hans"
    line = "Checkpoint 7 of job 0123456789abcdef0123456789abcdef expired before completing."
    for text in (
        "calm",
        "tm",
        "job 1",
        "clusters",
        "checkpoint",
        "of the fleet",
        line,
        "java.lang.IllegalStateException: it is closed",
    ):
        found = client.get("/find/", {"q": text}, headers={"HX-Request": "true"}).content.decode()
        assert english(spoken(found.replace("bdi>", "em>")), NAMES) == [], text
    assert "诊断结果" in client.get("/find/", {"q": "findings"}).content.decode()
    assert (
        "/findings/"
        in client.get("/find/", {"q": "诊断结果"}, headers={"HX-Request": "true"}).content.decode()
    )
