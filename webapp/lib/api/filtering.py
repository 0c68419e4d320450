"""The API's way to the filters of a list."""

from collections.abc import Collection
from typing import Any, TypeVar

from django_filters.rest_framework import DjangoFilterBackend
from drf_spectacular.utils import OpenApiParameter
from rest_framework.exceptions import ValidationError
from rest_framework.request import Request

from webapp.lib.filter_sets import ListFilters

FiltersT = TypeVar("FiltersT", bound=ListFilters)
PAGING = ("cursor", "page_size")


class FilterBackend(DjangoFilterBackend):
    """Applies the view's ``filterset_class``; an unknown name is an error like a wrong value."""

    def get_filterset(self, request: Any, queryset: Any, view: Any) -> Any:
        filters = super().get_filterset(request, queryset, view)
        names = filters.filters if filters else {}
        known = {*names, *getattr(filters, "aliases", ()), *PAGING}
        unknown = [name for name in request.query_params if name not in known]
        if unknown:
            text = f"There is no such parameter; there are {', '.join((*names, *PAGING))}."
            raise ValidationError(
                {name[:100]: [text] for name in unknown} | (filters.errors if filters else {})
            )
        return filters


def given(filters: type[FiltersT], request: Request) -> FiltersT:
    """Parameters of a view that lists no rows; raises ``ValidationError``."""
    filters_given = filters(request.query_params)
    if not filters_given.is_valid():
        raise ValidationError(filters_given.errors)
    return filters_given


def described(filters: type[ListFilters], required: Collection[str] = ()) -> list[OpenApiParameter]:
    parameters = filters.parameters().items()
    # The YAML writer accepts no subclass of str, such as messages.
    return [
        OpenApiParameter(
            name,
            parameter.schema,
            required=name in required,
            description=str.__str__(str(parameter.about)),
        )
        for name, parameter in parameters
    ]
