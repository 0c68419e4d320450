from typing import Any

from django import forms

from webapp.accounts.people import EVERYTHING, ONLY
from webapp.accounts.roles import Role
from webapp.lib.grants import LONGEST_TEXT
from webapp.lib.translations import gettext_lazy as _

ROLES = [
    (Role.VIEWER.group, _("viewer: looks at pages")),
    (Role.OPERATOR.group, _("operator: acknowledges, silences, adds clusters, starts runs")),
    (Role.ADMIN.group, _("admin: approves clean-ups, manages people, reads the audit log")),
]
GRANTS = _(
    'One grant per line, such as team="payments" or cluster=~"prod-.*", '
    'environment="prod". A cluster must match all matchers of at least one line. No line: '
    "no cluster."
)


class AccessForm(forms.Form):
    role = forms.ChoiceField(choices=ROLES, label=_("May"))
    sees = forms.ChoiceField(
        choices=[(EVERYTHING, _("every cluster")), (ONLY, _("only these clusters"))],
        label=_("Sees"),
    )
    sees_only = forms.CharField(
        required=False,
        max_length=LONGEST_TEXT,
        label=_("These clusters"),
        help_text=GRANTS,
        widget=forms.Textarea(attrs={"rows": 3, "spellcheck": "false"}),
    )

    def entered(self) -> dict[str, Any]:
        return {
            "role": self.cleaned_data["role"],
            "sees": self.cleaned_data["sees"],
            "lines": self.cleaned_data["sees_only"],
        }


class NewPersonForm(AccessForm):
    username = forms.CharField(
        max_length=150, label=_("User name"), widget=forms.TextInput(attrs={"autocomplete": "off"})
    )
    field_order = ["username", "role", "sees", "sees_only"]
