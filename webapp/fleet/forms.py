"""Forms of clusters. Secrets are write-only: an empty field keeps the stored secret."""

import re
from dataclasses import dataclass, field, replace
from typing import Any

from django import forms
from django.utils.translation import gettext

from webapp.fleet.models import Cluster
from webapp.fleet.models.cluster import ENTERED, HOW_READ
from webapp.fleet.scoped_reading import lock_reading
from webapp.fleet.sign_ins import SIGN_INS, SignIn, needs_secret
from webapp.lib.origins import ENTER_AGAIN, leads_elsewhere
from webapp.lib.translations import gettext_lazy as _

PLACE = "name|url|history_url"
DEFAULTED = ("log_layout", "time_zone", "log_store_backfill_h")


@dataclass
class Group:
    """A field belongs to the first group whose pattern ``names`` its name matches."""

    names: str
    title: str
    note: str = ""
    fields: list[forms.BoundField] = field(default_factory=list)

    @property
    def is_open(self) -> bool:
        """The first group, and one with an error or a value that is not the default."""
        return self.names == PLACE or any(bound.errors or _is_set(bound) for bound in self.fields)


GROUPS = (
    Group(PLACE, _("Where it is")),
    Group("auth_.*|(forget_)?secret", _("Sign-in")),
    Group("ca_file|client_.*|verify_tls", "TLS", _("paths on the machine Weir runs on")),
    Group("prometheus_.*", "Prometheus", _("metrics from there, not from the JobManager")),
    Group(
        "log_store_.*",
        _("Store of logs"),
        _("Loki, Elasticsearch or OpenSearch, where they hold this cluster's logs"),
    ),
    Group(".*", _("Logs and metrics")),
)


def _is_set(bound: forms.BoundField) -> bool:
    value = bound.value()
    if value in (None, "", [], False) and bound.name != "verify_tls":
        return False
    # Fields that are not in ``ENTERED`` are for secrets.
    return bound.name not in ENTERED or str(value) != str(getattr(Cluster(), bound.name))


def _secret_field(label: str = _("Password or token")) -> forms.CharField:
    return forms.CharField(
        required=False,
        strip=False,
        max_length=4_000,
        label=label,
        widget=forms.PasswordInput(render_value=False, attrs={"autocomplete": "new-password"}),
    )


class _Lines(forms.CharField):
    def __init__(self, label: str, help_text: str, rows: int, example: str) -> None:
        widget = forms.Textarea(attrs={"rows": rows, "placeholder": example})
        super().__init__(
            required=False, max_length=20_000, label=label, help_text=help_text, widget=widget
        )

    def prepare_value(self, value: Any) -> Any:
        return "\n".join(value) if isinstance(value, list) else value

    def clean(self, value: Any) -> list[str]:
        return [line.strip() for line in super().clean(value).splitlines() if line.strip()]


class ClusterForm(forms.ModelForm):
    """The model checks all fields but secrets."""

    secret = _secret_field()
    forget_secret = forms.BooleanField(
        required=False, label=_("Remove the stored password or token")
    )
    prometheus_secret = _secret_field()
    prometheus_forget_secret = forms.BooleanField(
        required=False, label=_("Remove the stored password or token")
    )
    log_globs = _Lines(
        _("Log files"),
        _("One path, glob or URI a line. Without any, the JobManager's own log is read over REST."),
        3,
        "/opt/flink/log/flink-*.log*",
    )
    log_store_secret = _secret_field(_("Its password, token or API key"))

    class Meta:
        model = Cluster
        fields = ("name", *ENTERED)
        labels = {
            "name": _("Name"),
            "url": _("JobManager address"),
            "history_url": _("History Server address"),
            "auth_scheme": _("Sign-in"),
            "auth_user": _("User"),
            "ca_file": _("CA file"),
            "client_cert_file": _("Client certificate"),
            "client_key_file": _("Client key"),
            "verify_tls": _("Check the server's certificate"),
            "logs_are_pushed": _("A log shipper pushes them"),
            "log_layout": _("Log layout"),
            "time_zone": _("Time zone of the logs"),
            "namenode_jmx_url": _("NameNode address"),
            "prometheus_url": _("Prometheus address"),
            "prometheus_selector": _("Labels of its series"),
            "prometheus_auth_scheme": _("Sign-in"),
            "prometheus_auth_user": _("User"),
            "prometheus_ca_file": _("CA file"),
            "prometheus_tenant": _("Tenant"),
            "metrics_interval_s": _("Seconds between metric samples"),
            "log_store_kind": _("Kind of store"),
            "log_store_url": _("Address of the store"),
            "log_store_query": _("Query or selector"),
            "log_store_index": _("Index"),
            "log_store_tenant": _("Tenant"),
            "log_store_auth_scheme": _("Sign-in to the store"),
            "log_store_auth_user": _("User of the store"),
            "log_store_backfill_h": _("Hours of history"),
        }
        help_texts = {
            "name": _(
                "Letters, digits, dots, dashes. You cannot change it later: it identifies the "
                "cluster in the lake."
            )
        }

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        for name in (
            *DEFAULTED,
            "log_store_kind",
            *(sign_in.scheme for sign_in in SIGN_INS),
        ):
            self.fields[name].required = False
        self.fields["url"].widget.attrs["placeholder"] = "http://jobmanager:8081"
        if self.instance.pk:
            self.fields["name"].disabled = True
            for sign_in in SIGN_INS:
                is_stored = bool(getattr(self.instance, sign_in.stored))
                self.fields[sign_in.secret].help_text = (
                    _("One is stored; leave empty to keep it.")
                    if is_stored
                    else _("None is stored.")
                )
        self.reading_is_locked = lock_reading(self, self.fields.keys() - HOW_READ)

    def clean(self) -> dict[str, Any]:
        cleaned: dict[str, Any] = super().clean() or self.cleaned_data
        for name in DEFAULTED:
            if cleaned.get(name) in (None, ""):
                cleaned[name] = getattr(Cluster(), name)
        for sign_in in SIGN_INS:
            is_used = cleaned.get(sign_in.needs) and needs_secret(cleaned.get(sign_in.scheme))
            if not is_used or cleaned.get(sign_in.secret):
                continue
            if cleaned.get(sign_in.forget) or not getattr(self.instance, sign_in.stored):
                self.add_error(
                    sign_in.secret, gettext("This sign-in needs a password, token or key.")
                )
            elif self._leads_elsewhere(sign_in, cleaned):
                self.add_error(sign_in.secret, ENTER_AGAIN)
        return cleaned

    def _leads_elsewhere(self, sign_in: SignIn, cleaned: dict[str, Any]) -> bool:
        """Whether the stored secret was entered for other addresses."""
        stored = [getattr(self.instance, name) for name in sign_in.addresses]
        return leads_elsewhere(stored, [cleaned.get(name) or "" for name in sign_in.addresses])

    def groups(self) -> list[Group]:
        """A field that removes a secret is only shown if one is stored."""
        groups = [replace(group, fields=[]) for group in GROUPS]
        hidden = {
            sign_in.forget for sign_in in SIGN_INS if not getattr(self.instance, sign_in.stored)
        }
        for name in self.fields:
            if name in hidden:
                continue
            group = next(group for group in groups if re.fullmatch(group.names, name))
            group.fields.append(self[name])
        return groups

    def to_cluster(self) -> Cluster:
        """The unsaved cluster with its secrets."""
        cluster: Cluster = self.save(commit=False)
        if self.reading_is_locked:
            return cluster
        for sign_in in SIGN_INS:
            if secret := self.cleaned_data[sign_in.secret]:
                sign_in.store(cluster, secret)
            elif self.cleaned_data.get(sign_in.forget) or not (
                getattr(cluster, sign_in.scheme) and getattr(cluster, sign_in.needs)
            ):
                sign_in.store(cluster, "")
        return cluster
