"""No column holds a finished sentence of ours: what is stored is a template and its values."""

import json
import re
from collections.abc import Iterator
from typing import Any

import pytest
from django.apps import apps
from django.db import connection, models
from django.utils import timezone

from ingest.messages import is_message
from tests.webapp.alerting.test_recordings import imported
from webapp.alerting.evaluation import evaluate
from webapp.site.translations.areas import LIB, Area

LONG_ENOUGH = 28
"""Letters of a template between two values: less may stand in a name or a log line by chance."""


def fragments() -> set[str]:
    """What is always the same in sentences of ``ingest`` and ``spark_jobs``."""
    messages = [
        one for one in Area(LIB).messages() if one.paths[0].startswith(("ingest/", "spark_jobs/"))
    ]
    texts = [text for one in messages for text in (one.text, one.plural) if text]
    parts = [part.strip() for text in texts for part in re.split(r"\{\w+(?::\w+)?\}", text)]
    return {part for part in parts if len(part) >= LONG_ENOUGH and part.count(" ") >= 3}


def without_messages(value: Any) -> Any:
    if isinstance(value, dict):
        return (
            ""
            if is_message(value)
            else {name: without_messages(one) for name, one in value.items()}
        )
    return [without_messages(one) for one in value] if isinstance(value, list) else value


def stored() -> Iterator[tuple[str, str]]:
    """Column and text of every text that our tables hold, as the database has it."""
    for model in apps.get_models():
        if not model.__module__.startswith("webapp"):
            continue
        columns = [
            one.column
            for one in model._meta.concrete_fields
            if isinstance(one, models.CharField | models.TextField | models.JSONField)
        ]
        for column in columns:
            with connection.cursor() as cursor:
                quote = connection.ops.quote_name
                cursor.execute(
                    f"SELECT DISTINCT {quote(column)} FROM {quote(model._meta.db_table)} WHERE "
                    f"{quote(column)} IS NOT NULL"
                )
                for (text,) in cursor.fetchall():
                    try:
                        bare = json.dumps(without_messages(json.loads(text)), ensure_ascii=False)
                    except (TypeError, ValueError):
                        bare = str(text)
                    yield f"{model._meta.db_table}.{column}", bare


@pytest.mark.django_db
def test_no_column_of_a_recorded_incident_holds_a_finished_sentence() -> None:
    imported("1.20.5-F")
    evaluate(timezone.now())
    known, kept, columns = fragments(), [], set()
    assert len(known) > 300
    for column, text in stored():
        columns.add(column)
        kept += [(column, part) for part in known if part in text]

    assert len(columns) > 60
    assert sorted(set(kept)) == []
