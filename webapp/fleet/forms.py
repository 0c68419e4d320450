"""Entering a cluster. The secret is written, never shown again: left empty, the stored one stays."""

from typing import Any

from django import forms
from django.utils.translation import gettext

from webapp.fleet.choices import AuthScheme
from webapp.fleet.models import Cluster
from webapp.fleet.models.cluster import ENTERED, HOW_READ
from webapp.fleet.models.log_store import DEFAULT_BACKFILL_H
from webapp.fleet.scoped_reading import lock_reading
from webapp.fleet.sign_ins import SIGN_INS, SignIn
from webapp.lib.origins import ENTER_AGAIN, leads_elsewhere
from webapp.lib.translations import gettext_lazy as _

GROUPED = frozenset(
    (
        "name", "url", "history_url", "archive_dir", "auth_scheme", "auth_user", "secret", "forget_secret", "ca_file",
        "client_cert_file", "client_key_file", "verify_tls",
    )
)  # fmt: skip


def _secret_field(label: str = _("Password or token")) -> forms.CharField:
    return forms.CharField(
        required=False,
        strip=False,
        max_length=4_000,
        label=label,
        widget=forms.PasswordInput(render_value=False, attrs={"autocomplete": "new-password"}),
    )


class _Lines(forms.CharField):
    """A list of texts, one a line."""

    def __init__(self, label: str, help_text: str, rows: int, example: str) -> None:
        widget = forms.Textarea(attrs={"rows": rows, "placeholder": example})
        super().__init__(required=False, max_length=20_000, label=label, help_text=help_text, widget=widget)

    def prepare_value(self, value: Any) -> Any:
        return "\n".join(value) if isinstance(value, list) else value

    def clean(self, value: Any) -> list[str]:
        return [line.strip() for line in super().clean(value).splitlines() if line.strip()]


class ClusterForm(forms.ModelForm):
    """Checks of single fields and of their combination are the model's."""

    secret = _secret_field()
    forget_secret = forms.BooleanField(required=False, label=_("Remove the stored password or token"))
    prometheus_secret = _secret_field()
    prometheus_forget_secret = forms.BooleanField(required=False, label=_("Remove the stored password or token"))
    log_globs = _Lines(
        _("Log files"),
        _("One path, glob or URI a line. Without any, the JobManager's own log is read over REST."),
        3,
        "/opt/flink/log/flink-*.log*",
    )
    hdfs_audit_globs = _Lines(
        _("Audit logs of the NameNode"),
        _("One path, glob or URI a line. Where clusters share a NameNode, declare them on one of these."),
        2,
        "/var/log/hadoop-hdfs/hdfs-audit.log*",
    )
    log_store_secret = _secret_field(_("Its password, token or API key"))

    class Meta:
        model = Cluster
        fields = ("name", *ENTERED)
        labels = {
            "name": _("Name"),
            "url": _("JobManager address"),
            "history_url": _("History Server address"),
            "archive_dir": _("Archive folder"),
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
        help_texts = {"name": _("Letters, digits, dots, dashes. It never changes: the lake knows the cluster by it.")}

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        for name in ("log_store_kind", "log_store_auth_scheme", "log_store_backfill_h"):
            self.fields[name].required = False
        self.fields["metrics_interval_s"].min_value = 3  # type: ignore[attr-defined]  # of a form field for integers
        self.fields["url"].widget.attrs["placeholder"] = "http://jobmanager:8081"
        for name in ("log_layout", "time_zone"):
            self.fields[name].required = False
        for sign_in in SIGN_INS:
            self.fields[sign_in.scheme].required = False
        if self.instance.pk:
            self.fields["name"].disabled = True
            for sign_in in SIGN_INS:
                is_stored = bool(getattr(self.instance, sign_in.stored))
                self.fields[sign_in.secret].help_text = _("One is stored; leave empty to keep it.") if is_stored else _("None is stored.")
            self.fields["log_store_secret"].help_text = (
                _("One is stored; leave empty to keep it.") if self.instance.has_log_store_secret else ""
            )
        self.reading_is_locked = lock_reading(self, self.fields.keys() - HOW_READ)

    def clean_log_layout(self) -> str:
        return str(self.cleaned_data["log_layout"] or "flink")

    def clean_time_zone(self) -> str:
        return str(self.cleaned_data["time_zone"] or "UTC")

    def clean_log_store_backfill_h(self) -> int:
        hours = self.cleaned_data["log_store_backfill_h"]
        return DEFAULT_BACKFILL_H if hours is None else int(hours)

    def clean_metrics_interval_s(self) -> int:
        interval_s = int(self.cleaned_data["metrics_interval_s"])
        if interval_s < 3:
            raise forms.ValidationError(gettext("Flink renews its metrics every 10 s at most; give 3 s or more."))
        return interval_s

    def clean(self) -> dict[str, Any]:
        cleaned: dict[str, Any] = super().clean() or self.cleaned_data
        for sign_in in SIGN_INS:
            needs_secret = cleaned.get(sign_in.scheme) in (AuthScheme.BASIC, AuthScheme.BEARER)
            keeps_secret = bool(getattr(self.instance, sign_in.stored)) and not cleaned.get(sign_in.forget)
            if needs_secret and not cleaned.get(sign_in.secret) and not keeps_secret:
                self.add_error(sign_in.secret, gettext("This sign-in needs a password or token."))
            elif needs_secret and not cleaned.get(sign_in.secret) and self._leads_elsewhere(sign_in, cleaned):
                self.add_error(sign_in.secret, ENTER_AGAIN)
        self._check_log_store_secret(cleaned)
        return cleaned

    def _check_log_store_secret(self, cleaned: dict[str, Any]) -> None:
        if not (cleaned.get("log_store_kind") and cleaned.get("log_store_auth_scheme")) or cleaned.get("log_store_secret"):
            return
        if not self.instance.has_log_store_secret:
            self.add_error("log_store_secret", gettext("This sign-in needs a password, token or key."))
        elif leads_elsewhere((self.instance.log_store_url,), (cleaned.get("log_store_url") or "",)):
            self.add_error("log_store_secret", ENTER_AGAIN)

    def _leads_elsewhere(self, sign_in: SignIn, cleaned: dict[str, Any]) -> bool:
        """The stored secret was entered for the addresses that are stored; the instance still has them here."""
        stored = [getattr(self.instance, name) for name in sign_in.addresses]
        return leads_elsewhere(stored, [cleaned.get(name) or "" for name in sign_in.addresses])

    def further_fields(self) -> list[forms.BoundField]:
        """Those that belong to no group of the page."""
        return [self[name] for name in self.fields if name not in GROUPED and not name.startswith(("prometheus_", "log_store_"))]

    def filled(self) -> Cluster:
        """The cluster as entered, secrets included, not saved."""
        cluster: Cluster = self.save(commit=False)
        if self.reading_is_locked:
            return cluster
        for sign_in in SIGN_INS:
            if self.cleaned_data[sign_in.secret]:
                sign_in.keep(cluster, self.cleaned_data[sign_in.secret])
            elif self.cleaned_data[sign_in.forget] or not getattr(cluster, sign_in.scheme):
                sign_in.keep(cluster, "")
        if self.cleaned_data["log_store_secret"]:
            cluster.set_log_store_secret(self.cleaned_data["log_store_secret"])
        elif not (cluster.log_store_kind and cluster.log_store_auth_scheme):
            cluster.set_log_store_secret("")
        return cluster
