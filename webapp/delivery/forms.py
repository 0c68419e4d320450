"""The form of endpoints. It never shows address and credential: an empty field keeps the stored
one.
"""

from collections.abc import Mapping
from typing import Any

from django import forms
from django.utils.translation import gettext

from webapp.delivery.choices import FormatName
from webapp.delivery.endpoint_entry import LONGEST_CREDENTIAL, LONGEST_NAME, EndpointEntry
from webapp.delivery.models import Endpoint
from webapp.delivery.targets import LONGEST_URL
from webapp.findings.choices import Severity
from webapp.lib.matcher_fields import MatchersField
from webapp.lib.matchers import as_entered, as_lines
from webapp.lib.translations import gettext_lazy as _

_HIDDEN: dict[str, Any] = {"autocomplete": "off", "spellcheck": "false"}


class EndpointForm(forms.Form):
    """:mod:`webapp.delivery.endpoint_entry` checks what this form does not."""

    name = forms.CharField(max_length=LONGEST_NAME, label=_("Name"))
    format = forms.ChoiceField(
        choices=FormatName.choices, initial=FormatName.WEIR, label=_("Format")
    )
    url = forms.CharField(
        required=False,
        max_length=LONGEST_URL,
        label=_("Address"),
        widget=forms.TextInput(attrs={**_HIDDEN, "placeholder": "https://…"}),
        help_text=_(
            "Where it is POSTed to. For PagerDuty and Jira Service Management it may stay empty, "
            "for e-mail it has no meaning. Telegram: https://api.telegram.org/bot…/sendMessage"
            "?chat_id=…"
        ),
    )
    credential = forms.CharField(
        required=False,
        max_length=LONGEST_CREDENTIAL,
        label=_("Key or sign-in"),
        widget=forms.PasswordInput(render_value=False, attrs={"autocomplete": "new-password"}),
        help_text=_(
            "PagerDuty: the integration key. Jira Service Management: the API key. incident.io: "
            "the token. Feishu, DingTalk: the signing key."
        ),
    )
    forget_credential = forms.BooleanField(required=False, label=_("Remove the stored key"))
    emails = forms.CharField(
        required=False,
        max_length=6_000,
        label=_("Mail addresses"),
        widget=forms.Textarea(attrs={"rows": 2}),
        help_text=_("For e-mail: one a line."),
    )
    min_severity = forms.ChoiceField(
        choices=Severity.choices, initial=Severity.WARNING, label=_("Least severity")
    )
    matchers = MatchersField(
        required=False,
        rows=4,
        placeholder='cluster="prod-eu"',
        help_text=_(
            'One a line, all have to match: cluster="prod-eu", job=~"orders-.*", rule!="…", '
            "family, severity, subject. Empty: every alert."
        ),
    )
    owner_email = forms.EmailField(
        required=False,
        label=_("Owner's mail address"),
        help_text=_("Notified when the endpoint is disabled after failures, if mail is set up."),
    )

    def __init__(self, *args: Any, endpoint: Endpoint | None = None, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        if endpoint is not None and endpoint.pk:
            for name in ("name", "format", "min_severity", "owner_email"):
                self.initial[name] = getattr(endpoint, name)
            self.initial["emails"] = "\n".join(endpoint.emails)
            self.initial["matchers"] = as_lines(as_entered(endpoint.matchers))
            if endpoint.url_shown:
                self.fields["url"].help_text = gettext(
                    "%(url)s is stored; leave empty to keep it."
                ) % {"url": endpoint.url_shown}
            self.fields["credential"].help_text = (
                _("One is stored; leave empty to keep it.")
                if endpoint.credential_encrypted
                else _("None is stored.")
            )

    def entered(self) -> EndpointEntry:
        entered = self.cleaned_data
        credential = "" if entered["forget_credential"] else None
        return EndpointEntry(
            name=entered["name"],
            format=entered["format"],
            url=entered["url"] or None,
            credential=entered["credential"] or credential,
            emails=tuple(
                line.strip()
                for line in entered["emails"].replace(",", "\n").splitlines()
                if line.strip()
            ),
            matchers=entered["matchers"],
            min_severity=entered["min_severity"],
            owner_email=entered["owner_email"],
        )

    def refuse(self, fields: Mapping[str, str]) -> None:
        for name, text in fields.items():
            self.add_error(name if name in self.fields else None, text)
