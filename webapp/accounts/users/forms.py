"""What administrators enter about a person."""

from typing import Any

from django import forms

from webapp.accounts.people import EVERYTHING, ONLY
from webapp.accounts.roles import Role
from webapp.lib.grants import LONGEST_TEXT

ROLES = [
    (Role.VIEWER.group, "viewer: looks at pages"),
    (Role.OPERATOR.group, "operator: acknowledges, silences, adds clusters, starts runs"),
    (Role.ADMIN.group, "admin: approves clean-ups, manages people, reads the audit log"),
]
GRANTS = (
    'One grant a line, such as team="payments" or cluster=~"prod-.*", environment="prod". All matchers of a line have to fit a cluster, '
    "one line has to. No line: no cluster."
)


class AccessForm(forms.Form):
    role = forms.ChoiceField(choices=ROLES, label="May")
    sees = forms.ChoiceField(choices=[(EVERYTHING, "every cluster"), (ONLY, "only these clusters")], label="Sees")
    sees_only = forms.CharField(
        required=False,
        max_length=LONGEST_TEXT,
        label="These clusters",
        help_text=GRANTS,
        widget=forms.Textarea(attrs={"rows": 3, "spellcheck": "false"}),
    )

    def entered(self) -> dict[str, Any]:
        return {"role": self.cleaned_data["role"], "sees": self.cleaned_data["sees"], "lines": self.cleaned_data["sees_only"]}


class NewPersonForm(AccessForm):
    username = forms.CharField(max_length=150, label="User name", widget=forms.TextInput(attrs={"autocomplete": "off"}))
    field_order = ["username", "role", "sees", "sees_only"]
