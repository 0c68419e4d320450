"""Filters of lists, which a feature declares once, as a ``ListFilters`` in its ``filters.py``. A
page calls ``from_page(request.GET, rows)``, a download ``.checked()``; the API has it as
``filterset_class``; commands make options of it (``webapp/fleet/rows_command.py``). A wrong value
selects no rows, and the answer names the parameter, the value and what is accepted: the API and
downloads with status 400, pages beside their filters, commands with exit code 2.
"""

from collections.abc import Mapping
from typing import Any, ClassVar, Self

from django.db.models import QuerySet
from django_filters import FilterSet

from webapp.lib.keysets import KeysetColumn, newest_first
from webapp.lib.query_parameters import Parameter, Text, time_window

SORT = "sort"


class WrongParameters(ValueError):
    """The message is safe to show."""


class ListFilters(FilterSet):
    """Subclasses have parameters of :mod:`webapp.lib.query_parameters` as attributes; with
    ``time_field`` they have ``from`` and ``to``, too.
    """

    aliases: ClassVar[Mapping[str, str]] = {}
    """Alias of a parameter → its name."""
    time_field: ClassVar[str] = ""
    order: ClassVar[tuple[KeysetColumn, ...]] = (KeysetColumn("id"),)
    """Order in the API, and on pages without another order. With ``time_field``: newest first."""
    defaults: ClassVar[Mapping[str, str]] = {}

    def __init_subclass__(cls) -> None:
        if "time_field" in vars(cls):
            cls.declared_filters.update(time_window(cls.time_field))
            if "order" not in vars(cls):
                cls.order = newest_first(cls.time_field)

    def __init__(
        self, data: Mapping[str, Any], queryset: QuerySet[Any] | None = None, **kwargs: Any
    ) -> None:
        values_by_name = dict(data.items())
        for alias, name in self.aliases.items():
            if alias in values_by_name:
                values_by_name.setdefault(name, values_by_name.pop(alias))
        super().__init__(values_by_name, QuerySet() if queryset is None else queryset, **kwargs)

    @classmethod
    def from_page(cls, query: Mapping[str, str], queryset: QuerySet[Any] | None = None) -> Self:
        """Empty parameters are ignored."""
        chosen = {name: text.strip() for name, text in query.items() if text.strip()}
        return cls({**cls.defaults, **chosen}, queryset)

    @classmethod
    def parameters(cls) -> dict[str, Parameter]:
        return {
            name: filter_
            for name, filter_ in cls.base_filters.items()
            if isinstance(filter_, Parameter)
        }

    @property
    def values(self) -> dict[str, Any]:
        self.is_valid()
        return {name: value for name, value in self.form.cleaned_data.items() if value is not None}

    @property
    def is_narrowed(self) -> bool:
        """Whether the filters differ from the page's defaults; sorting does not count."""
        return any(
            name in self.filters and name != SORT and self.defaults.get(name) != text
            for name, text in (self.data or {}).items()
        )

    @property
    def qs(self) -> QuerySet[Any]:
        return super().qs if self.is_valid() else self.queryset.none()  # type: ignore[union-attr]  # is set

    def check(self) -> None:
        if not self.is_valid():
            raise WrongParameters(self.explanation)

    def checked(self) -> QuerySet[Any]:
        """Raises :class:`WrongParameters`."""
        self.check()
        return self.qs

    @property
    def explanation(self) -> str:
        return " ".join(f"{name}: {' '.join(messages)}" for name, messages in self.errors.items())


class OfJob(ListFilters):
    cluster = Text()
    job_id = Text(about="also taken as job")
    aliases = {"job": "job_id"}
