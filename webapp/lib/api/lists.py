"""What all lists of the API are: read-only, filtered as declared, paged by cursor."""

from collections.abc import Callable, Sequence
from typing import Any, ClassVar, TypeVar

from drf_spectacular.utils import OpenApiResponse, extend_schema, extend_schema_view
from rest_framework import mixins, viewsets

from webapp.lib.api.errors import ErrorAnswer
from webapp.lib.api.filtering import FilterBackend
from webapp.lib.api.paging import CursorPaging
from webapp.lib.filter_sets import ListFilters
from webapp.lib.keysets import KeysetColumn

ViewT = TypeVar("ViewT", bound=viewsets.GenericViewSet[Any])

ERRORS = {
    400: OpenApiResponse(ErrorAnswer, "A parameter cannot be used."),
    401: OpenApiResponse(ErrorAnswer, "Nobody is signed in, or the token is not valid."),
    403: OpenApiResponse(ErrorAnswer, "Not allowed."),
}
NOT_FOUND = {404: OpenApiResponse(ErrorAnswer, "There is none.")}


def listed(serializer: Any, summary: str) -> Callable[[type[ViewT]], type[ViewT]]:
    """Describe the ``list`` of a view."""
    described: Callable[[type[ViewT]], type[ViewT]] = extend_schema_view(
        list=extend_schema(summary=summary, responses={200: serializer(many=True), **ERRORS})
    )
    return described


class ListView(mixins.ListModelMixin, viewsets.GenericViewSet[Any]):
    """Subclasses have ``queryset``, ``serializer_class``, ``filterset_class`` and ``paging_keys``."""

    filterset_class: ClassVar[type[ListFilters] | None] = None
    paging_keys: ClassVar[Sequence[KeysetColumn]] = (KeysetColumn("id"),)
    filter_backends = [FilterBackend]
    pagination_class = CursorPaging

    def paging_order(self) -> Sequence[KeysetColumn]:
        return self.paging_keys
