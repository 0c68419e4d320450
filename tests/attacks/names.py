"""Names and texts that somebody gives to a job, a task, an operator, an exception or a note, and
what each is to do to a reader.
"""

from collections.abc import Iterator
from typing import Any

from django.apps import apps
from django.db import models

CANARY = "weir-canary"
NAMES = (
    f"<script>{CANARY}()</script>",
    f"'\"><img src=x onerror={CANARY}()>",
    f"</script></title></textarea></pre><svg onload={CANARY}()>",
    f"<!--{CANARY}--><a href='javascript:{CANARY}()'>x</a>",
    "{{70001*3}} {% debug %} ${70001*3} #{70001*3} <%= 70001*3 %>",
    f"=cmd|'/C {CANARY}'!A0",
    f"+1+cmd|{CANARY}",
    f"-2+3+cmd|{CANARY}",
    f"@SUM(1+1)*{CANARY}",
    f'\t=HYPERLINK("http://evil.example/{CANARY}")',
    f"\ufeff\xa0\u200b=1+cmd|{CANARY}",
    f"＝1+cmd|{CANARY}",
    f"\u3000－2+cmd|{CANARY}",
    "\u202e\u2066gnp.exe\u2069 \u200b\u200f",
    "nul\x00nul",
    "\x1b[2J\x1b]0;owned\x07\x1b[31mred",
    "a\r\nSet-Cookie: owned=1\r\n\r\n<script>x</script>",
    "line\u2028separator\u2029paragraph\x85next\x0bvertical",
    "'; DROP TABLE fleet_jobcurrent; --",
    "../../../../etc/passwd",
    "javascript:alert(1)//",
    "%00%0d%0aX: y %s%n {0} %(name)s",
    "Z\u0351\u036b\u0343\u036a\u0342" * 60,
    "界" * 2_000,
    "",
    " ",
    "0",
)
FORMULAS = ("=", "+", "-", "@", "\t", "\r", "＝", "＋", "－", "＠")
LONG = "x<b>" * 250_000
"""A megabyte."""

KEYS = {
    *(
        "id",
        "uid",
        "key",
        "cluster",
        "job_id",
        "other_job_id",
        "successor_job_id",
        "checkpoint_id",
        "vertex_id",
        "subject_id",
        "audit_id",
    ),
    *(
        "rule",
        "uri",
        "root",
        "metadata_path",
        "run_dir",
        "manifest_path",
        "folder",
        "attempt",
        "digest",
        "prefix",
        "sha256",
        "codename",
    ),
    *(
        "username",
        "password",
        "url",
        "url_encrypted",
        "secret_encrypted",
        "credential_encrypted",
        "previous_secret_encrypted",
        "purpose",
    ),
    *(
        "auth_secret_encrypted",
        "app_label",
        "model",
        "record_hash",
        "notice_uid",
        "alert_uid",
        "time_zone",
        "log_layout",
        "session_key",
    ),
    *(
        "task_key",
        "leased_by",
        "fingerprint",
        "payload",
        "log_store_secret_encrypted",
        "prometheus_secret_encrypted",
    ),
}
"""Columns that other rows or files are found by, that are Weir's own, or whose form is checked
where they come in.
"""
OF_OTHERS = {
    "fleet",
    "checkpoints",
    "pressure",
    "findings",
    "storage",
    "alerting",
    "delivery",
    "reports",
    "pipeline",
    "accounts",
}


def poison(turn: int) -> int:
    """Every text of every row becomes one of the names, another one at every turn; returns how many
    columns that were.
    """
    number = 0
    for model, field in texts():
        number += 1
        name = NAMES[(number + turn) % len(NAMES)][: field.max_length]
        # Not by the default one: that of the audit log changes nothing.
        model._base_manager.update(**{field.name: name})
    for model, field in documents():
        for row in model._default_manager.all():
            number += 1
            poisoned = _replaced(getattr(row, field.name), NAMES[(number + turn) % len(NAMES)])
            model._base_manager.filter(pk=row.pk).update(**{field.name: poisoned})
    return number


def texts() -> Iterator[tuple[Any, Any]]:
    """Columns of text that somebody else may have written; a new one is among them by itself."""
    for model, field in _fields():
        is_text = isinstance(field, models.CharField | models.TextField) and not field.choices
        if (
            is_text
            and field.name not in KEYS
            and not field.unique
            and not _identifies(model, field)
        ):
            yield model, field


def documents() -> Iterator[tuple[Any, Any]]:
    for model, field in _fields():
        if isinstance(field, models.JSONField) and field.name not in DOCUMENTS_OF_WEIR:
            yield model, field


DOCUMENTS_OF_WEIR = {
    *(
        "matchers",
        "roots",
        "jobs",
        "cursor",
        "clusters",
        "summary",
        "progress",
        "log_globs",
        "document",
        "payload",
        "withheld",
    ),
}
WORDS_OF_WEIR = {
    "kind",
    "vertex_id",
    "source",
    "target",
    "outcome",
    "at",
    "comparison",
    "threshold_key",
    "unit",
    "state",
    "root",
    "result",
}
"""Entries of documents that name something else."""


def _fields() -> Iterator[tuple[Any, Any]]:
    for model in apps.get_models():
        if model._meta.app_label in OF_OTHERS:
            for field in model._meta.concrete_fields:
                yield model, field


def _identifies(model: Any, field: Any) -> bool:
    return any(
        field.name in rule.fields
        for rule in model._meta.constraints
        if isinstance(rule, models.UniqueConstraint)
    )


def _replaced(value: Any, name: str) -> Any:
    if isinstance(value, dict):
        return {
            key: one if key in WORDS_OF_WEIR else _replaced(one, name) for key, one in value.items()
        }
    if isinstance(value, list):
        return [_replaced(one, name) for one in value]
    return name if isinstance(value, str) else value
