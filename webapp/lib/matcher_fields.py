from typing import Any

from django import forms
from django.utils.text import format_lazy

from webapp.lib.matchers import LONGEST_TEXT, BadMatcher, parse_lines
from webapp.lib.translations import gettext_lazy as _

_ONE_A_LINE = _('One a line: cluster="prod-eu", job=~"orders-.*", rule!="…". All have to match.')
_LABELS = _(
    "Labels: cluster, job, job_id, rule, family, severity, confidence, subject, subject_kind, kind."
)


class MatchersField(forms.CharField):
    def __init__(self, *, rows: int = 3, placeholder: str = "", **kwargs: Any) -> None:
        attrs = {"rows": rows, "class": "mono", "spellcheck": "false"}
        if placeholder:
            attrs["placeholder"] = placeholder
        widget = forms.Textarea(attrs=attrs)
        help_text = format_lazy("{} {}", _ONE_A_LINE, _LABELS)
        super().__init__(
            **{
                "max_length": LONGEST_TEXT,
                "label": _("Which alerts"),
                "help_text": help_text,
                "widget": widget,
                **kwargs,
            }
        )

    def clean(self, value: Any) -> Any:
        try:
            return parse_lines(super().clean(value))
        except BadMatcher as error:
            raise forms.ValidationError(str(error)) from None
