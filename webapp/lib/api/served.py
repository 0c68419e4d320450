"""Serialises rows of serving tables; fields are described as columns."""

from typing import Any, TypeVar

from django.db import models
from rest_framework import serializers

ModelT = TypeVar("ModelT", bound=models.Model)


class ServedSerializer(serializers.ModelSerializer[ModelT]):
    """``Meta.table`` is the serving table that ``Meta.model`` holds."""

    def build_standard_field(self, field_name: str, model_field: Any) -> Any:
        kind, options = super().build_standard_field(field_name, model_field)
        column = self.Meta.table.by_name.get(field_name)
        return kind, {**options, "help_text": column.about} if column and column.about else options


def serializer_of(
    model: type[models.Model],
    table: Any,
    about: str | None = None,
    *,
    name: str = "",
    **fields: Any,
) -> Any:
    """The serializer of a serving table. ``name``: in the OpenAPI document, else that of the model.
    ``fields``: instead of those that the model gives.
    """
    meta = type("Meta", (), {"model": model, "table": table, "exclude": ("id",)})
    return type(
        f"{name or model.__name__}Serializer",
        (ServedSerializer,),
        {"__doc__": about, "Meta": meta, **fields},
    )
