"""Tables of an audit as Spark declares them, and the models that hold them."""

import pytest
from django.db import models

from spark_jobs.audit_tables import AUDIT_TABLES
from spark_jobs.serving import Column
from webapp.lib.messages.fields import MessageField
from webapp.storage.models import AUDIT_MODELS

FIELD_OF_KIND: dict[str, tuple[type[models.Field], ...]] = {  # type: ignore[type-arg]
    "text": (models.CharField, models.TextField, models.ForeignKey),
    "int": (models.BigIntegerField,),
    "flag": (models.BooleanField,),
    "instant": (models.DateTimeField,),
    "json": (models.JSONField,),
    "message": (MessageField,),
}


def fields_of(name: str) -> dict[str, models.Field]:  # type: ignore[type-arg]
    return {field.attname: field for field in AUDIT_MODELS[name]._meta.fields if field.name != "id"}


def test_every_table_of_an_audit_has_a_model() -> None:
    assert AUDIT_MODELS.keys() == AUDIT_TABLES.keys()


@pytest.mark.parametrize("name", AUDIT_TABLES)
def test_every_field_is_a_column_of_the_audit_table_and_of_its_kind(name: str) -> None:
    columns = AUDIT_TABLES[name].by_name
    assert [field for field, of in fields_of(name).items() if not _fits(columns[field], of)] == []


@pytest.mark.parametrize("name", AUDIT_TABLES)
def test_every_key_of_an_audit_table_is_unique_and_bounded(name: str) -> None:
    rules = [
        set(rule.fields)
        for rule in AUDIT_MODELS[name]._meta.constraints
        if isinstance(rule, models.UniqueConstraint)
    ]
    key = {"audit" if column == "audit_id" else column for column in AUDIT_TABLES[name].key}
    assert key in rules
    assert not any(
        isinstance(AUDIT_MODELS[name]._meta.get_field(column), models.TextField) for column in key
    )


def _fits(column: Column, field: models.Field) -> bool:  # type: ignore[type-arg]
    return type(field) in FIELD_OF_KIND[column.kind] and field.null is not column.required
