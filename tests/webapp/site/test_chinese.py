"""Every page in Simplified Chinese: no English is left but names, codes and terms that stay as they are."""

import html
import re
from pathlib import Path

import pytest
from django.conf import settings
from django.core.cache import cache
from django.test import Client

from tests.attacks.inhabited import inhabit, somebody
from tests.attacks.places import places
from tests.weir_settings import WeirSettings
from webapp.accounts.roles import Role

LEFT_OUT = ("export", "healthz", "readyz", "metrics", "schema", "documentation", "admin:", "/docs", "api-")
UNSPOKEN = re.compile(
    r"<(script|style|code|kbd|bdi|pre|textarea|svg)\b.*?</\1>|<!--.*?-->"
    r"""|<(span|td|dt|dd|small|div|th|a|b|p|option|h1)\b[^>]*class="[^"]*\bmono\b[^"]*"[^>]*>.*?</\2>""",
    re.S,
)
"""What is code, a name or an id by its element."""
SPOKEN = re.compile(r"""\s(?:title|placeholder|aria-label)="([^"]*)\"""")
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
        "mattermost",
        "wecom",
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
    ]
)
"""Terms of the field that Chinese engineers say in English, and products."""


def spoken(page: str) -> str:
    """Texts and attributes that are read, without names and codes."""
    bare = UNSPOKEN.sub(" ", page)
    return html.unescape(" | ".join([TAG.sub(" | ", bare), *SPOKEN.findall(bare)]))


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
        "out",
    ]
)
"""Words in names of what is there to be shown, of roles among it, and in lines of logs."""
UNFINISHED = frozenset(
    [
        "access-users",
        "alert",
        "alert-setting",
        "alert-settings",
        "alerts",
        "backend",
        "before-after",
        "checkpoint",
        "cleanup-plan",
        "cleanup-plans",
        "cluster-add",
        "cluster-edit",
        "deliveries",
        "delivery",
        "endpoint",
        "endpoint-add",
        "endpoint-edit",
        "endpoint-notice-format",
        "endpoint-remove",
        "endpoints",
        "exactly-once",
        "filesystem-calls-tables",
        "finding",
        "findings",
        "fleet-filesystem-calls-tables",
        "fleet-resources",
        "growth",
        "host",
        "in-flight",
        "incident",
        "incidents",
        "job",
        "maintenance",
        "maintenance-new",
        "missing-file",
        "pipeline",
        "pipeline-kept",
        "placement-tables",
        "recovery",
        "report",
        "report-download",
        "report-open",
        "reports",
        "reports-new",
        "resources-tables",
        "rule",
        "rules",
        "silences",
        "starts",
        "starts-tables",
        "storage-root",
        "storage-xray",
        "what-if",
    ]
)
"""Pages that still have English in them."""


@pytest.mark.django_db
def test_no_page_in_chinese_has_english_left(home: Path, weir: WeirSettings, tmp_path: Path) -> None:
    weir(chromium="no-such-browser")
    inhabit(tmp_path)
    client = Client()
    client.force_login(somebody(Role.ADMIN, "root"))
    client.cookies[settings.LANGUAGE_COOKIE_NAME] = "zh-hans"
    left: dict[str, list[str]] = {}
    seen, places_seen = 0, set[str]()
    for place in places():
        if any(part in place.label or part in place.template for part in LEFT_OUT):
            continue
        try:
            path = place.filled(known=True)
        except (AssertionError, LookupError):
            continue
        cache.clear()
        answer = client.get(path, place.asks_for)
        if answer.status_code != 200 or answer.streaming or "html" not in answer.get("Content-Type", ""):
            continue
        seen += 1
        places_seen.add(place.label)
        for piece in english(spoken(answer.content.decode()), NAMES):
            left.setdefault(place.label, []).append(piece)
    assert seen >= 60
    assert {page: pieces for page, pieces in left.items() if page not in UNFINISHED} == {}
    assert places_seen >= UNFINISHED
