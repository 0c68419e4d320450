"""Query parameters of a list: declared on its view, checked, and described in the schema."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal

from django.db.models import QuerySet
from django.utils import timezone
from rest_framework.exceptions import ValidationError
from rest_framework.filters import BaseFilterBackend
from rest_framework.request import Request
from rest_framework.views import APIView

from webapp.lib import timeranges

_LONGEST_TEXT = 500
_LARGEST = 2**63


@dataclass(frozen=True)
class Parameter:
    """``lookup`` is what the value is compared with, as in ``filter(**{lookup: value})``."""

    name: str
    lookup: str
    kind: Literal["text", "whole", "flag", "instant"] = "text"
    description: str = ""
    choices: Sequence[str] = ()

    def read(self, text: str, at: datetime) -> Any:
        """The value, or ``ValueError`` with a sentence."""
        if self.choices and text not in self.choices:
            raise ValueError(f"Give one of {', '.join(self.choices)}.")
        if self.kind == "whole":
            digits = text.removeprefix("-")
            if not (digits.isascii() and digits.isdigit() and len(digits) < 20 and -_LARGEST <= int(text) < _LARGEST):
                raise ValueError("Give a whole number.")
            return int(text)
        if self.kind == "flag":
            if text not in ("true", "false"):
                raise ValueError("Give true or false.")
            return text == "true"
        if self.kind == "instant":
            return timeranges.instant(text, at)
        if "\x00" in text or len(text) > _LONGEST_TEXT:
            raise ValueError(f"Give at most {_LONGEST_TEXT} characters, without NUL.")
        return text

    @property
    def schema(self) -> dict[str, Any]:
        kinds: dict[str, dict[str, Any]] = {
            "text": {"type": "string", "maxLength": _LONGEST_TEXT, "pattern": r"^[^\u0000]*$"},
            "whole": {"type": "integer", "format": "int64"},
            "flag": {"type": "boolean"},
            "instant": {"anyOf": [{"type": "string", "format": "date-time"}, {"type": "string", "pattern": r"^now(-[0-9]{1,4}[smhd])?$"}]},
        }
        schema = {**kinds[self.kind], **({"enum": list(self.choices)} if self.choices else {})}
        return {"name": self.name, "in": "query", "required": False, "description": self.description, "schema": schema}


def time_window(field: str) -> tuple[Parameter, Parameter]:
    """``from`` and ``to``, as on the pages: ``now-6h`` or an ISO instant."""
    about = f"{field.replace('_', ' ')}: an ISO 8601 instant, or relative as in now-6h."
    earliest = Parameter("from", f"{field}__gte", "instant", f"Earliest {about}")
    return earliest, Parameter("to", f"{field}__lte", "instant", f"Latest {about}")


class DeclaredFilters(BaseFilterBackend):
    """Applies the view's ``parameters``; a wrong value or an unknown name is an error, never silently nothing."""

    def filter_queryset(self, request: Request, queryset: QuerySet[Any], view: APIView) -> QuerySet[Any]:
        at, conditions, wrong = timezone.now(), {}, {}
        declared = {parameter.name: parameter for parameter in _parameters_of(view)}
        for name, text in request.query_params.items():
            if name in ("cursor", "page_size"):
                continue
            if name not in declared:
                wrong[name[:100]] = [f"There is no such parameter; there are {', '.join(declared)}, cursor and page_size."]
                continue
            try:
                conditions[declared[name].lookup] = declared[name].read(str(text), at)
            except ValueError as error:
                wrong[name] = [str(error)]
        if wrong:
            raise ValidationError(wrong)
        return queryset.filter(**conditions)

    def get_schema_operation_parameters(self, view: APIView) -> list[dict[str, Any]]:
        return [parameter.schema for parameter in _parameters_of(view)]


def _parameters_of(view: APIView) -> Sequence[Parameter]:
    declared: Sequence[Parameter] = getattr(view, "parameters", ())
    return declared
