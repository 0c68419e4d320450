"""Whatever stands in the columns of rows, no page of theirs breaks: figures, times and texts of
every table, each at its ends.

Ids, names in addresses and words that Weir itself chooses from stay as they are: those are tried
elsewhere.
"""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.apps import apps
from django.db import models
from django.db.backends.base.operations import BaseDatabaseOperations
from django.test import Client
from django.utils import timezone

from tests.attacks.inhabited import somebody
from tests.attacks.places import content_of, places
from tests.attacks.scale import examples
from webapp.accounts.roles import Role

APPS = (
    "fleet",
    "checkpoints",
    "pressure",
    "profiles",
    "findings",
    "storage",
    "delivery",
    "alerting",
    "reports",
    "pipeline",
)
OURS = {
    "attempt",
    "audit_id",
    "auth_scheme",
    "auth_secret_encrypted",
    "below",
    "checkpoint_id",
    "cluster",
    "code",
    "confidence",
    "credential_encrypted",
    "day",
    "days",
    "digest",
    "directory",
    "family",
    "fence",
    "files_kept",
    "fingerprint",
    "folder",
    "folder_name",
    "format",
    "health_state",
    "job_id",
    "key",
    "kind",
    "log_layout",
    "log_store_secret_encrypted",
    "manifest_path",
    "metadata_path",
    "muted_by",
    "name",
    "notified",
    "number",
    "other_job_id",
    "outcome",
    "path",
    "payload",
    "period",
    "position",
    "previous_secret_encrypted",
    "prometheus_auth_scheme",
    "prometheus_secret_encrypted",
    "quarantine",
    "read_at",
    "reason",
    "revision",
    "root",
    "roots",
    "rule",
    "run_dir",
    "secret_encrypted",
    "severity",
    "severity_rank",
    "shard",
    "size_h",
    "source",
    "state",
    "status",
    "subject_id",
    "subject_kind",
    "time_zone",
    "token",
    "trigger_time",
    "uid",
    "uri",
    "url_encrypted",
    "verdict",
    "version",
    "vertex_id",
    "visibility",
    "weekday",
    "window_s",
}
"""Names of things, and words of which there is a list."""
TOLD = ("evidence", "related", "data", "recent_outcomes", "graph", "windows")
MAPPINGS = ("labels", "configuration", "checkpoint_config")
"""What the readers make a mapping of, whatever was reported."""
HOSTILE = "\u202e<script>alert(1)</script>{{ 7*7 }}=cmd()\u2066 \U0001f984 \u0627\u0644\u0639"


def columns() -> Iterator[tuple[type[models.Model], Any]]:
    for label in APPS:
        for model in apps.get_app_config(label).get_models():
            for field in model._meta.concrete_fields:
                fixed = (
                    field.primary_key
                    or field.is_relation
                    or field.choices
                    or field.unique
                    or field.name in OURS
                )
                if not fixed:
                    yield model, field


def end(field: Any, which: str) -> Any:
    """A value of the column, or the column itself where it has none of that kind.

    No reader lets an instant of before 1970 in.
    """
    now, same = timezone.now(), models.F(field.name)
    if which == "null":
        return None if field.null else same
    if which in ("smallest", "largest") and isinstance(field, models.IntegerField):
        return BaseDatabaseOperations.integer_field_ranges[field.get_internal_type()][
            which == "largest"
        ]
    if which in ("smallest", "largest") and isinstance(field, models.FloatField):
        return -1e308 if which == "smallest" else 1e308
    if which in ("past", "future") and isinstance(field, models.DateTimeField):
        return datetime(1970, 1, 1, tzinfo=UTC) if which == "past" else now + timedelta(days=700)
    if isinstance(field, models.CharField | models.TextField):
        text = {
            "hostile": HOSTILE,
            "long": "\U0001f984" * (field.max_length or 200_000),
            "empty": "",
        }.get(which)
        return same if text is None else text[: field.max_length or len(text)]
    if isinstance(field, models.JSONField) and which in ("empty", "list", "object"):
        told = field.name in TOLD or (field.name in MAPPINGS and which != "list")
        return (
            {"empty": type(field.get_default() or {})(), "list": [], "object": {}}[which]
            if told
            else same
        )
    return same


def fill(which: str) -> int:
    """How many columns were changed, with rows in them."""
    changed = 0
    by_model: dict[type[models.Model], dict[str, Any]] = {}
    for model, field in columns():
        value = end(field, which)
        if not isinstance(value, models.F):
            by_model.setdefault(model, {})[field.name] = value
    for model, values in by_model.items():
        changed += len(values) * bool(model._default_manager.update(**values))
    return changed


WAYS = (
    "null",
    "hostile",
    "largest",
    "future",
    "smallest",
    "past",
    "long",
    "empty",
    "list",
    "object",
)[: examples(1, 10)]
"""Hostile texts are those of ``test_names.py`` by ``make test``."""


@pytest.mark.parametrize("which", WAYS)
def test_no_place_breaks_whatever_stands_in_its_rows(inhabited: Any, which: str) -> None:
    asked = [(place, place.filled(known=True), place.asks_for) for place in places()]
    changed = fill(which)
    assert changed > (3 if which in ("list", "object") else 20)
    client = Client(raise_request_exception=False)
    client.force_login(somebody(Role.ADMIN, "ada", is_superuser=True))
    broken = []
    for place, path, query in asked:
        answer = client.get(path, query)
        content = content_of(answer)
        if answer.status_code >= 500 and place.label != "/readyz":
            broken.append((place.label, path, answer.status_code))
        if "html" in answer.headers.get("Content-Type", "") and b"<script>alert(1)" in content:
            broken.append((place.label, path, "script"))
    assert not broken
