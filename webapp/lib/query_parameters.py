"""Kinds of query parameters, for pages, API and commands: how each is read, checked, described and
applied.
"""

from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Any

from django import forms
from django.db.models import QuerySet
from django.utils import timezone
from django.utils.translation import gettext
from django_filters import Filter
from drf_spectacular.drainage import set_override

from webapp.lib import timeranges
from webapp.lib.row_numbers import LARGEST

_LONGEST_SHOWN = 60


class ParameterField(forms.Field):
    """``None`` if the parameter is absent; an empty text is a value."""

    def __init__(self, *, read: Callable[[str], Any], **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.read = read

    def clean(self, value: Any) -> Any:
        try:
            return None if value is None else self.read(str(value))
        except ValueError as error:
            # django-filter formats the message again.
            raise forms.ValidationError(
                gettext("%(given)s cannot be used. %(error)s"),
                params={"given": f"{str(value)[:_LONGEST_SHOWN]!r}", "error": error},
            ) from error


class Parameter(Filter):
    """Filters rows by ``field_name``, or by a ``method`` of the filter set. ``about`` is its
    description in the API and in commands.
    """

    field_class = ParameterField
    schema: dict[str, Any] = {}
    choices: Sequence[str] = ()

    def __init__(
        self,
        field_name: str | None = None,
        lookup_expr: str | None = None,
        *,
        about: str = "",
        method: str | None = None,
    ) -> None:
        super().__init__(field_name, lookup_expr, label="", method=method, read=self.read)
        self.about = about
        set_override(self, "field", {**self.schema, "description": about})

    def read(self, text: str) -> Any:
        """Raises ``ValueError`` with a sentence that says what is accepted."""
        raise NotImplementedError

    def filter(self, qs: QuerySet[Any], value: Any) -> QuerySet[Any]:
        if value is None:
            return qs
        return qs.filter(**{f"{self.field_name}__{self.lookup_expr}": value})


class Text(Parameter):
    schema = {"type": "string", "maxLength": 500, "pattern": r"^[^\u0000]*$"}

    def read(self, text: str) -> str:
        longest: int = self.schema["maxLength"]
        if "\x00" in text or len(text) > longest:
            raise ValueError(
                gettext("Give at most %(longest)s characters, without NUL.")
                % {"longest": f"{longest:,}"}
            )
        return text


class LongText(Text):
    schema = {**Text.schema, "maxLength": 4_000}


class Choice(Parameter):
    def __init__(
        self, choices: Sequence[str], field_name: str | None = None, **options: Any
    ) -> None:
        self.choices = tuple(choices)
        self.schema = {"type": "string", "enum": list(self.choices)}
        super().__init__(field_name, **options)

    def read(self, text: str) -> str:
        if text not in self.choices:
            raise ValueError(
                gettext("Give one of %(choices)s.") % {"choices": ", ".join(self.choices)}
            )
        return text


class Whole(Parameter):
    schema = {"type": "integer", "format": "int64"}

    def read(self, text: str) -> int:
        digits = text.removeprefix("-")
        if not (
            digits.isascii()
            and digits.isdigit()
            and len(digits) < 20
            and -LARGEST - 1 <= int(text) <= LARGEST
        ):
            raise ValueError(gettext("Give a whole number."))
        return int(text)


class Flag(Parameter):
    """Links on pages have yes and no."""

    schema = {"type": "boolean"}
    _VALUES = {"true": True, "false": False, "yes": True, "no": False}

    def read(self, text: str) -> bool:
        if text not in self._VALUES:
            raise ValueError(gettext("Give true or false."))
        return self._VALUES[text]


class Instant(Parameter):
    schema = {
        "anyOf": [
            {"type": "string", "format": "date-time"},
            {"type": "string", "pattern": r"^now(-[0-9]{1,4}[smhd])?$"},
        ]
    }

    def read(self, text: str) -> datetime:
        return timeranges.instant(text, timezone.now())


def time_window(field: str) -> dict[str, Instant]:
    """The parameters ``from`` and ``to``; a class cannot have an attribute ``from``."""
    about = f"{field.replace('_', ' ')}: an ISO 8601 instant, or relative as in now-6h."
    return {
        "from": Instant(field, "gte", about=f"Earliest {about}"),
        "to": Instant(field, "lte", about=f"Latest {about}"),
    }
