"""Saved views over the API: everybody's own, and those shared with them."""

from typing import Any

from django.db.models import QuerySet
from drf_spectacular.utils import extend_schema
from rest_framework import serializers, status
from rest_framework.permissions import SAFE_METHODS, BasePermission
from rest_framework.request import Request
from rest_framework.response import Response

from webapp.accounts.models import ApiToken, SavedView
from webapp.accounts.permissions import noted
from webapp.accounts.roles import role_of
from webapp.accounts.saved_views import rows
from webapp.accounts.saved_views.pages import PAGES
from webapp.accounts.viewers import me
from webapp.lib.api.lists import ERRORS, NOT_FOUND, ListView, listed
from webapp.lib.api.routes import Routes
from webapp.lib.filter_sets import ListFilters
from webapp.lib.keysets import KeysetColumn
from webapp.lib.query_parameters import Choice


class OwnViews(BasePermission):
    """A view is a person's own, whatever their role.

    A token needs the scope to write, and has to see all that its person does.
    """

    def has_permission(self, request: Request, view: Any) -> bool:
        token = request.auth if isinstance(request.auth, ApiToken) else None
        writes = token is None or (token.scope != ApiToken.Scope.READ and token.sees is None)
        return noted(
            request,
            role_of(request.user) is not None and (request.method in SAFE_METHODS or writes),
        )


class SavedViewSerializer(serializers.ModelSerializer[SavedView]):
    page = serializers.ChoiceField(choices=list(PAGES), help_text="the list that is narrowed")
    name = serializers.CharField(max_length=rows.LONGEST_NAME)
    query = serializers.CharField(
        max_length=rows.LONGEST_QUERY,
        allow_blank=True,
        help_text="of its address, as status=running&sort=-name",
    )
    is_shared = serializers.BooleanField(
        default=False, help_text="with everybody who sees the same clusters, or all"
    )
    owner = serializers.CharField(source="user.username", read_only=True)
    address = serializers.CharField(read_only=True, help_text="path and query of the page")

    class Meta:
        model = SavedView
        fields = ("id", "page", "name", "query", "is_shared", "owner", "address", "changed_at")
        read_only_fields = ("id", "changed_at")
        validators: list[Any] = []


class SavedViewChangeSerializer(serializers.Serializer[Any]):
    name = serializers.CharField(max_length=rows.LONGEST_NAME)
    is_shared = serializers.BooleanField()


class SavedViewFilters(ListFilters):
    page = Choice(list(PAGES))
    order = (KeysetColumn("id"),)


@listed(SavedViewSerializer, "Saved views: your own, and those shared with you")
class SavedViewViews(ListView):
    filterset_class = SavedViewFilters
    permission_classes = [OwnViews]
    lookup_value_regex = r"\d{1,18}"

    def get_queryset(self) -> QuerySet[SavedView]:
        if getattr(self, "swagger_fake_view", False):
            return SavedView.objects.none()
        return rows.seen_by(
            me(self.request), self.request.auth if isinstance(self.request.auth, ApiToken) else None
        )

    @extend_schema(
        summary="Save a view; a view with the same page and name is replaced",
        request=SavedViewSerializer,
        responses={200: SavedViewSerializer, **ERRORS},
    )
    def create(self, request: Request) -> Response:
        given = _valid(SavedViewSerializer(data=request.data))
        row = rows.save(
            me(request), given["page"], given["name"], given["query"], is_shared=given["is_shared"]
        )
        return Response(SavedViewSerializer(row).data)

    @extend_schema(
        summary="Rename, share or unshare one of your views",
        request=SavedViewChangeSerializer,
        responses={200: SavedViewSerializer, **ERRORS, **NOT_FOUND},
    )
    def update(self, request: Request, pk: str) -> Response:
        row = rows.own(me(request), int(pk))
        given = _valid(SavedViewChangeSerializer(data=request.data))
        rows.change(row, given["name"], is_shared=given["is_shared"])
        return Response(SavedViewSerializer(row).data)

    @extend_schema(summary="Remove one of your views", responses={204: None, **ERRORS, **NOT_FOUND})
    def destroy(self, request: Request, pk: str) -> Response:
        rows.own(me(request), int(pk)).delete()
        return Response(status=status.HTTP_204_NO_CONTENT)


def _valid(serializer: Any) -> dict[str, Any]:
    serializer.is_valid(raise_exception=True)
    checked: dict[str, Any] = serializer.validated_data
    return checked


ROUTES: Routes = (("saved-views", SavedViewViews, "api-saved-views"),)
