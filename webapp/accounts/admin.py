"""People and tokens in the administration."""

from typing import Any

from django.contrib import admin
from django.contrib.auth.admin import UserAdmin
from django.http import HttpRequest

from webapp.accounts import people
from webapp.accounts.forms import SignInForm
from webapp.accounts.models import ApiToken, User
from webapp.accounts.user_form import UserForm
from webapp.lib import grants

admin.site.login_form = SignInForm
admin.site.site_header = "Weir"
admin.site.site_title = "Weir"


@admin.register(User)
class PersonAdmin(UserAdmin):
    """Who may only look reads the two fields of the form by the methods of these names."""

    form = UserForm

    def get_fieldsets(self, request: HttpRequest, obj: Any = None) -> Any:
        known = super().get_fieldsets(request, obj)
        return (
            (*known, ("Clusters", {"fields": ("sees_everything", "sees_only")})) if obj else known
        )

    def get_deleted_objects(self, objs: Any, request: HttpRequest) -> tuple[Any, Any, Any, Any]:
        """Both ways to delete ask here what is in the way."""
        people.lock_administrators()
        known = super().get_deleted_objects(objs, request)
        gone = {one.pk for one in objs}
        nobody_left = not User.objects.filter(people.administrators()).exclude(pk__in=gone).exists()
        return (*known[:3], [*known[3], people.LAST] if nobody_left else known[3])

    @admin.display(boolean=True)
    def sees_everything(self, user: User) -> bool:
        return user.is_superuser or user.sees is None

    def sees_only(self, user: User) -> str:
        return "" if user.sees is None else grants.as_text(grants.grants_from_json(user.sees))


@admin.register(ApiToken)
class ApiTokenAdmin(admin.ModelAdmin):
    """Tokens are issued elsewhere, since their text is shown once; here they are seen and
    revoked.
    """

    list_display = ("prefix", "name", "user", "scope", "expires_at", "last_used_at")
    list_filter = ("scope",)
    search_fields = ("name", "prefix", "user__username")
    readonly_fields = ("prefix", "user", "scope", "created_at", "last_used_at")
    exclude = ("digest",)

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False
