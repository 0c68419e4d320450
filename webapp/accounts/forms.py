"""Signing in."""

from typing import Any

from django.contrib.auth.forms import AuthenticationForm
from django.core.exceptions import ValidationError

from webapp.accounts.throttle import forget_failures, is_blocked, note_failure


class SignInForm(AuthenticationForm):
    """Refuses without looking at the password where too many attempts failed."""

    def clean(self) -> dict[str, Any]:
        request, user_name = self.request, self.cleaned_data.get("username", "")
        if request is None:
            return super().clean()
        if is_blocked(request, user_name):
            raise ValidationError("Too many failed attempts. Wait a quarter of an hour, or ask an administrator.", code="blocked")
        try:
            cleaned = super().clean()
        except ValidationError:
            note_failure(request, user_name)
            raise
        forget_failures(user_name)
        return cleaned
