"""The base of the API's lists: read-only, filtered as declared, paged by cursor."""

from collections.abc import Callable, Sequence
from typing import Any, ClassVar, TypeVar

from drf_spectacular.utils import OpenApiResponse, extend_schema, extend_schema_view
from rest_framework import mixins, viewsets

from webapp.lib.api.errors import CONFLICT, ErrorAnswer
from webapp.lib.api.filtering import FilterBackend
from webapp.lib.api.paging import CursorPaging
from webapp.lib.filter_sets import ListFilters
from webapp.lib.keysets import KeysetColumn

ViewT = TypeVar("ViewT", bound=viewsets.GenericViewSet[Any])

ERRORS = {
    400: OpenApiResponse(ErrorAnswer, "A parameter cannot be used."),
    401: OpenApiResponse(ErrorAnswer, "Nobody is signed in, or the token is not valid."),
    403: OpenApiResponse(ErrorAnswer, "Not allowed."),
    429: OpenApiResponse(
        ErrorAnswer, "Too many requests in this minute; Retry-After says how many seconds to wait."
    ),
}
NOT_FOUND = {404: OpenApiResponse(ErrorAnswer, "There is none.")}
REFUSALS = {**ERRORS, **NOT_FOUND, **CONFLICT}


def listed(serializer: Any, summary: str) -> Callable[[type[ViewT]], type[ViewT]]:
    """Decorates a :class:`ListView`, which lists all rows of the serializer's model by default."""

    def decorate(view: type[ViewT]) -> type[ViewT]:
        view.serializer_class = serializer
        if view.queryset is None:
            view.queryset = serializer.Meta.model._default_manager.all()
        schema = extend_schema(summary=summary, responses={200: serializer(many=True), **ERRORS})
        listed_view: type[ViewT] = extend_schema_view(list=schema)(view)
        return listed_view

    return decorate


# No docstring: the OpenAPI document would show it with every operation.
class ListView(mixins.ListModelMixin, viewsets.GenericViewSet[Any]):
    filterset_class: ClassVar[type[ListFilters]]
    filter_backends = [FilterBackend]
    pagination_class = CursorPaging

    def paging_order(self) -> Sequence[KeysetColumn]:
        return self.filterset_class.order


def list_view(
    serializer: Any, filters: type[ListFilters], summary: str, base: type[ListView] = ListView
) -> type[ListView]:
    """A view that only lists rows."""
    name = f"{serializer.__name__.removesuffix('Serializer')}Views"
    return listed(serializer, summary)(type(name, (base,), {"filterset_class": filters}))
