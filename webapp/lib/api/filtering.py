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
    """Unknown parameters are errors, too."""

    def get_filterset(self, request: Any, queryset: Any, view: Any) -> Any:
        filters = super().get_filterset(request, queryset, view)
        names = filters.filters if filters else {}
        valid_names = {*names, *getattr(filters, "aliases", ()), *PAGING}
        unknown = [name for name in request.query_params if name not in valid_names]
        if unknown:
            text = f"There is no such parameter; there are {', '.join((*names, *PAGING))}."
            raise ValidationError(
                {name[:100]: [text] for name in unknown} | (filters.errors if filters else {})
            )
        return filters


def valid_filters(filters: type[FiltersT], request: Request) -> FiltersT:
    """The filters of a view that lists no rows. Raises ``ValidationError``."""
    bound = filters(request.query_params)
    if not bound.is_valid():
        raise ValidationError(bound.errors)
    return bound


def openapi_parameters(
    filters: type[ListFilters], required: Collection[str] = ()
) -> list[OpenApiParameter]:
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
