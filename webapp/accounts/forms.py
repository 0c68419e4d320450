from typing import Any

from django.contrib.auth.forms import AuthenticationForm
from django.core.exceptions import ValidationError

from webapp.accounts import throttle
from webapp.lib.translations import gettext_lazy as _

BLOCKED = _(
    "Too many failed attempts. Use a browser that you signed in with before, wait an hour, or ask "
    "an administrator."
)


class SignInForm(AuthenticationForm):
    """Refuses without checking the password after too many failures."""

    def clean(self) -> dict[str, Any]:
        request, user_name = self.request, self.cleaned_data.get("username", "")
        if request is None:
            return super().clean()
        if not user_name or not self.cleaned_data.get("password"):
            return super().clean()
        try:
            counted = throttle.begin(request, user_name)
        except throttle.Blocked:
            request.sign_in_blocked = True  # type: ignore[attr-defined]  # for the audit log
            raise ValidationError(BLOCKED, code="blocked") from None
        cleaned = super().clean()
        throttle.succeeded(counted)
        return cleaned
