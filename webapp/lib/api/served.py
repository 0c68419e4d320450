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
