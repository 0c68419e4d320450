"""The audit log over the API, for administrators of the whole fleet."""

from typing import Any

from rest_framework import serializers
from rest_framework.permissions import BasePermission
from rest_framework.request import Request

from webapp.accounts.administration import is_admin
from webapp.accounts.audit.filters import UNKNOWN, AuditFilters
from webapp.accounts.audit.views import COLUMNS
from webapp.accounts.models import AuditEntry
from webapp.accounts.permissions import noted
from webapp.lib import scopes
from webapp.lib.api.lists import ListView, listed
from webapp.lib.api.routes import Routes


class AdministratorsOnly(BasePermission):
    """By session, or by a token that is not narrowed."""

    message = "The audit log is for administrators who see every cluster."

    def has_permission(self, request: Request, view: Any) -> bool:
        return noted(request, is_admin(request.user) and scopes.current().is_everything)


class AuditEntrySerializer(serializers.ModelSerializer[AuditEntry]):
    outcome = serializers.SerializerMethodField()
    details = serializers.DictField(
        child=serializers.CharField(), help_text="what was entered, of the fields that may be shown"
    )

    class Meta:
        model = AuditEntry
        fields = ("id", *COLUMNS)

    def get_outcome(self, entry: AuditEntry) -> str:
        return entry.outcome or UNKNOWN


@listed(AuditEntrySerializer, "Who did what, newest first; for administrators")
class AuditViews(ListView):
    filterset_class = AuditFilters
    permission_classes = [AdministratorsOnly]


ROUTES: Routes = (("audit", AuditViews, "api-audit"),)
