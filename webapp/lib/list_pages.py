"""The form of filters, the number of rows, and answers to invalid requests."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import redirect
from django.utils.translation import gettext

from webapp.lib.filter_sets import ListFilters, WrongParameters
from webapp.lib.keysets import BadCursor
from webapp.lib.middleware import Middleware

COUNT_CAP = 1_000
POSITIONS = ("cursor", "after", "page")
"""A changed filter resets these parameters."""


@dataclass(frozen=True)
class Control:
    """A form field. ``options``: (value, text); without options it is a text field."""

    name: str
    label: str
    options: Sequence[tuple[Any, str]] = ()
    id: str = ""
    value: str = ""
    error: str = ""


@dataclass(frozen=True)
class FilterForm:
    """``kept``: other parameters of the page, as hidden fields; ``errors``: errors of parameters
    without a control.
    """

    controls: list[Control]
    kept: list[tuple[str, str]]
    errors: list[str]


def filter_form(request: HttpRequest, filters: ListFilters, *controls: Control) -> FilterForm:
    errors = {name: " ".join(messages) for name, messages in filters.errors.items()}
    values, names = filters.data or {}, {control.name for control in controls}
    filled_controls = [
        Control(
            control.name,
            gettext(control.label),
            _translated(control.options),
            control.id or control.name,
            str(values.get(control.name, "")),
            errors.get(control.name, ""),
        )
        for control in controls
    ]
    kept = [
        (name, str(text))
        for name, text in request.GET.items()
        if name not in {*names, *errors, *POSITIONS}
    ]
    return FilterForm(
        filled_controls,
        kept,
        [f"{name}: {error}" for name, error in errors.items() if name not in names],
    )


def _translated(options: Sequence[tuple[Any, str]]) -> list[tuple[Any, str]]:
    return [
        (value, words if value == words or not words else gettext(words))
        for value, words in options
    ]


def capped_count(rows: QuerySet[Any]) -> int:
    return rows.order_by()[: COUNT_CAP + 1].count()


def searched(rows: QuerySet[Any]) -> tuple[QuerySet[Any], int]:
    """``rows`` and their :func:`capped_count`. If they are few, they are selected by their keys:
    the page need not search again.
    """
    keys = list(rows.order_by().values_list("pk", flat=True)[: COUNT_CAP + 1])
    return rows.filter(pk__in=keys) if len(keys) <= COUNT_CAP else rows, len(keys)


class ListErrors(Middleware):
    """An invalid cursor redirects to the first page; a download with wrong parameters is refused."""

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        return self.get_response(request)

    def process_exception(self, request: HttpRequest, exception: Exception) -> HttpResponse | None:
        if isinstance(exception, WrongParameters):
            return HttpResponse(
                f"{exception}\n", status=400, content_type="text/plain; charset=utf-8"
            )
        return redirect(request.path) if isinstance(exception, BadCursor) else None
