from datetime import UTC, datetime, timedelta
from typing import Any

from django import forms

from webapp.lib import shown_zone
from webapp.lib.matcher_fields import MatchersField
from webapp.lib.timeranges import NoSuchTime, instant
from webapp.lib.translations import gettext_lazy as _


class InstantField(forms.CharField):
    """Reads an instant such as ``2026-11-21 18:00``, in UTC or in the zone of the form's field
    ``zone``; None if empty.
    """

    def __init__(self, **kwargs: Any) -> None:
        widget = forms.TextInput(attrs={"placeholder": "2026-11-21 18:00", "autocomplete": "off"})
        super().__init__(max_length=40, widget=widget, **kwargs)

    def get_bound_field(self, form: forms.BaseForm, field_name: str) -> forms.BoundField:
        bound = super().get_bound_field(form, field_name)
        bound.label = f"{self.label} ({shown_zone.label()})"
        return bound

    def clean(self, value: Any) -> Any:
        text = super().clean(value)
        if not text:
            return None
        try:
            return instant(text.removesuffix(" UTC"), datetime.now(UTC))
        except NoSuchTime as wrong:
            raise forms.ValidationError(str(wrong)) from None
        except ValueError:
            raise forms.ValidationError(_("Give an instant such as 2026-11-21 18:00.")) from None


MOST_REASON = 1_000


class SilenceForm(forms.Form):
    matchers = MatchersField()
    hours = forms.FloatField(
        required=False,
        min_value=0.1,
        max_value=24 * 90,
        label=_("For how many hours"),
        help_text=_("Or say until when."),
    )
    ends_at = InstantField(required=False, label=_("Until"))
    starts_at = InstantField(required=False, label=_("From"), help_text=_("Empty: from now on."))
    reason = forms.CharField(
        max_length=MOST_REASON, widget=forms.Textarea(attrs={"rows": 2}), label=_("Why")
    )

    def clean(self) -> dict[str, Any]:
        entered: dict[str, Any] = super().clean() or {}
        if self.errors:
            return entered
        if not entered["ends_at"] and not entered["hours"]:
            raise forms.ValidationError(_("Say for how many hours, or until when."))
        try:
            self.span(datetime.now(UTC))
        except OverflowError:
            raise forms.ValidationError(
                _("It would end after the last day there is; give an earlier one.")
            ) from None
        return entered

    def span(self, now: datetime) -> tuple[datetime, datetime]:
        start = self.cleaned_data["starts_at"] or now
        return start, self.cleaned_data["ends_at"] or start + timedelta(
            hours=self.cleaned_data["hours"]
        )
