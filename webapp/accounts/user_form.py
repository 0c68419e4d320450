"""A person in the administration: Django's form, and which clusters they see."""

from typing import Any

from django import forms
from django.contrib.auth.forms import UserChangeForm
from django.utils.translation import gettext

from webapp.accounts import people
from webapp.accounts.roles import Role
from webapp.lib import grants
from webapp.lib.matchers import BadMatcher
from webapp.lib.translations import gettext_lazy as _


class UserForm(UserChangeForm):  # type: ignore[type-arg]  # generic in its stubs alone
    sees_everything = forms.BooleanField(
        required=False, help_text=_("Every cluster, and what concerns the whole fleet.")
    )
    sees_only = forms.CharField(
        required=False,
        widget=forms.Textarea(attrs={"rows": 4}),
        help_text=_(
            'Clusters that match one of these lines, such as team="payments", '
            'environment="prod" or cluster=~"prod-.*"; no line: no cluster. Superusers '
            "see everything."
        ),
    )

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        kept = self.instance.sees
        self.initial["sees_everything"] = kept is None
        self.initial["sees_only"] = (
            "" if kept is None else grants.as_text(grants.grants_from_json(kept))
        )

    def clean_sees_only(self) -> str:
        try:
            grants.parse(self.cleaned_data["sees_only"])
        except BadMatcher as wrong:
            raise forms.ValidationError(str(wrong)) from None
        return str(self.cleaned_data["sees_only"])

    def clean(self) -> dict[str, Any] | None:
        cleaned = super().clean()
        people.lock_administrators()
        if people.is_last_administrator(self.instance) and not self._administers():
            self.add_error(None, people.LAST)
        if (
            self.cleaned_data.get("sees_everything")
            and self.cleaned_data.get("sees_only", "").strip()
        ):
            self.add_error(
                "sees_only",
                gettext("Sees everything is selected: leave this empty, or clear the selection."),
            )
        return cleaned

    def _administers(self) -> bool:
        given = self.cleaned_data
        in_role = Role.ADMIN.group in {group.name for group in given.get("groups") or ()}
        return bool(
            given.get("is_active")
            and (given.get("is_superuser") or (in_role and given.get("sees_everything")))
        )

    def save(self, commit: bool = True) -> Any:
        self.instance.sees = (
            None
            if self.cleaned_data["sees_everything"]
            else grants.as_json(grants.parse(self.cleaned_data["sees_only"]))
        )
        return super().save(commit)
