"""The API's way to the filters of a list."""

from typing import Any

from django_filters.rest_framework import DjangoFilterBackend
from rest_framework.exceptions import ValidationError

PAGING = ("cursor", "page_size")


class FilterBackend(DjangoFilterBackend):
    """Applies the view's ``filterset_class``; a name that it does not have is an error like a wrong value."""

    def get_filterset(self, request: Any, queryset: Any, view: Any) -> Any:
        filters = super().get_filterset(request, queryset, view)
        names = filters.filters if filters else {}
        known = {*names, *getattr(filters, "aliases", ()), *PAGING}
        unknown = [name for name in request.query_params if name not in known]
        if unknown:
            text = f"There is no such parameter; there are {', '.join((*names, *PAGING))}."
            raise ValidationError({name[:100]: [text] for name in unknown} | (filters.errors if filters else {}))
        return filters
