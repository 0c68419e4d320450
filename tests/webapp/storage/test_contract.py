"""Tables of an audit as Spark declares them, and the models that hold them."""

import pytest
from django.db import models

from spark_jobs.audit_tables import AUDIT_TABLES
from spark_jobs.serving import Column
from webapp.lib.messages.fields import MessageField
from webapp.storage.table_models import AUDIT_MODELS

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
def test_every_column_of_an_audit_table_is_a_field_of_its_kind(name: str) -> None:
    fields = fields_of(name)
    assert set(fields) == set(AUDIT_TABLES[name].column_names)
    wrong = [
        column.name
        for column in AUDIT_TABLES[name].columns
        if not _fits(column, fields[column.name])
    ]
    assert wrong == []


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
