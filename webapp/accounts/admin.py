"""People and tokens in the administration."""

from django.contrib import admin
from django.contrib.auth.admin import UserAdmin
from django.http import HttpRequest

from webapp.accounts.forms import SignInForm
from webapp.accounts.models import ApiToken, User

admin.site.login_form = SignInForm
admin.site.site_header = "Weir"
admin.site.site_title = "Weir"
admin.site.register(User, UserAdmin)


@admin.register(ApiToken)
class ApiTokenAdmin(admin.ModelAdmin):
    """Tokens are issued elsewhere, since their text is shown once; here they are seen and revoked."""

    list_display = ("prefix", "name", "user", "scope", "expires_at", "last_used_at")
    list_filter = ("scope",)
    search_fields = ("name", "prefix", "user__username")
    readonly_fields = ("prefix", "user", "scope", "created_at", "last_used_at")
    exclude = ("digest",)

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False
