"""What all lists of the API are: read-only, filtered as declared, paged by cursor."""

from collections.abc import Callable, Sequence
from typing import Any, ClassVar, TypeVar

from drf_spectacular.utils import OpenApiResponse, extend_schema, extend_schema_view
from rest_framework import mixins, viewsets

from webapp.lib.api.errors import ErrorAnswer
from webapp.lib.api.filtering import DeclaredFilters, Parameter
from webapp.lib.api.paging import CursorPaging
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
    """Subclasses say ``queryset``, ``serializer_class``, ``parameters`` and ``paging_keys``."""

    parameters: ClassVar[Sequence[Parameter]] = ()
    paging_keys: ClassVar[Sequence[KeysetColumn]] = (KeysetColumn("id"),)
    filter_backends = [DeclaredFilters]
    pagination_class = CursorPaging
