from datetime import datetime
from pathlib import Path
from typing import Any, ClassVar, Self

from django.conf import settings
from django.core.exceptions import ValidationError
from django.core.validators import MinValueValidator, RegexValidator
from django.db import models, transaction
from django.utils import timezone
from django.utils.translation import gettext

from ingest import source_registry
from ingest.discovery.operator_report import events_of
from ingest.discovery.pods import pods_of
from ingest.errors import Refused
from ingest.flink_logs.layouts import layout_of, zone_of
from ingest.local_directories import refusal_of_entry
from ingest.network.clusters import RefusedAddress
from ingest.network.uris import check_uri
from ingest.source_declaration import Setting
from ingest.sources import ClusterSource, LogSource, PrometheusSource, Tls
from webapp.fleet.choices import AuthScheme, ClusterKind, OperatorState, Visibility
from webapp.fleet.freshness import REFUSED_EVERY_S, silence_allowed
from webapp.fleet.models.log_store import LogStoreFields, auth_of
from webapp.fleet.pushed_logs import metrics_spool_of, pulled_spool_of, spool_of
from webapp.fleet.scoped_reading import require_same_reading
from webapp.fleet.validators import are_label_matchers, is_tenant, is_time_zone, is_web_url
from webapp.lib.messages.fields import MessageField, MessagesField
from webapp.lib.messages.rendering import localised
from webapp.lib.scoped_rows import scoped
from webapp.lib.translations import gettext_lazy as _
from webapp.work.models import CLOCK_SLACK

HOW_READ = frozenset({"metrics_interval_s", "time_zone", "log_layout"})
"""These fields change how a cluster is read, but not what is read."""
SILENCE_FIELDS = (
    "consecutive_failures",
    "consecutive_refusals",
    "failing_since",
    "unreachable_since",
)
MAX_SHARD_SIZE = 200


class ClusterQuerySet(models.QuerySet["Cluster"]):
    def live(self) -> Self:
        return self.filter(kind=ClusterKind.LIVE)

    def collected(self) -> Self:
        return self.live().filter(enabled=True, left_at__isnull=True)

    def meant_to_run(self) -> Self:
        """Clusters whose JobManager should answer."""
        return self.collected().exclude(operator_state=OperatorState.SUSPENDED)

    def mend(self, now: datetime) -> int:
        """Moves instants of the future to ``now`` after the clock was set back; returns how many."""
        future_clusters = self.live().filter(last_success_at__gt=now + CLOCK_SLACK)
        return future_clusters.update(last_success_at=now)

    def unseen(self, now: datetime) -> Self:
        """Live clusters whose present state is unknown, like the state of their jobs."""
        silent = models.Q(last_success_at__isnull=True) | models.Q(
            last_success_at__lt=now - silence_allowed()
        )
        gone = models.Q(left_at__isnull=False) | ~models.Q(operator_state="")
        return self.live().filter(
            silent | models.Q(unreachable_since__isnull=False) | models.Q(enabled=False) | gone
        )

    def without_running_jobs(self) -> Self:
        """Clusters with a History Server only, which reports ended jobs."""
        logs = (
            ~models.Q(log_globs=[]) | ~models.Q(log_store_kind="") | models.Q(logs_are_pushed=True)
        )
        return (
            self.live().filter(~models.Q(history_url=""), url="", prometheus_url="").exclude(logs)
        )

    def register_recordings(self, names: set[str]) -> int:
        """Register clusters that only the lake knows; returns how many."""
        removed = RemovedCluster.objects.filter(name__in=names)
        unknown = (
            names
            - set(self.filter(name__in=names).values_list("name", flat=True))
            - set(removed.values_list("name", flat=True))
        )
        rows = [
            self.model(name=name, kind=ClusterKind.RECORDING, enabled=False)
            for name in sorted(unknown)
        ]
        return len(self.bulk_create(rows, ignore_conflicts=True))


@scoped(by="name")
class Cluster(LogStoreFields):
    """``name`` is the key in the lake and in other tables, so it never changes."""

    name = models.CharField(
        max_length=100,
        unique=True,
        validators=[
            RegexValidator(
                r"^[A-Za-z0-9][A-Za-z0-9._-]*$",
                _("Use letters, digits, dots, dashes and underscores."),
            )
        ],
    )
    kind = models.CharField(max_length=16, choices=ClusterKind.choices, default=ClusterKind.LIVE)
    enabled = models.BooleanField(default=True)

    url = models.CharField(
        max_length=500,
        blank=True,
        validators=[is_web_url],
        help_text=_("REST address of the JobManager"),
    )
    history_url = models.CharField(
        max_length=500,
        blank=True,
        validators=[is_web_url],
        help_text=_("REST address of the History Server"),
    )
    auth_scheme = models.CharField(
        max_length=8, blank=True, choices=AuthScheme.choices, default=AuthScheme.NONE
    )
    auth_user = models.CharField(max_length=200, blank=True)
    auth_secret_encrypted = models.TextField(blank=True, editable=False)
    ca_file = models.CharField(
        max_length=500, blank=True, help_text=_("PEM file of the authority to trust")
    )
    client_cert_file = models.CharField(max_length=500, blank=True)
    client_key_file = models.CharField(max_length=500, blank=True)
    verify_tls = models.BooleanField(default=True)
    log_globs = models.JSONField(
        default=list,
        blank=True,
        help_text=_("paths, globs or URIs of JobManager and TaskManager logs"),
    )
    logs_are_pushed = models.BooleanField(
        default=False, help_text=_("by a log shipper, with a token of this cluster")
    )
    log_layout = models.CharField(
        max_length=500, default="flink", help_text=_("flink, or a log4j pattern")
    )
    time_zone = models.CharField(
        max_length=64,
        default="UTC",
        validators=[is_time_zone],
        help_text=_("of the log lines, which carry none"),
    )
    namenode_jmx_url = models.CharField(
        max_length=500,
        blank=True,
        validators=[is_web_url],
        help_text=_("web address of its HDFS NameNode, such as http://namenode:9870"),
    )
    prometheus_url = models.CharField(
        max_length=500,
        blank=True,
        validators=[is_web_url],
        help_text=_("address of a Prometheus that scrapes Flink's reporter"),
    )
    prometheus_selector = models.CharField(
        max_length=500,
        blank=True,
        validators=[are_label_matchers],
        help_text=_('of this cluster\'s series, such as namespace="flink"'),
    )
    prometheus_auth_scheme = models.CharField(
        max_length=8, blank=True, choices=AuthScheme.choices, default=AuthScheme.NONE
    )
    prometheus_auth_user = models.CharField(max_length=200, blank=True)
    prometheus_secret_encrypted = models.TextField(blank=True, editable=False)
    prometheus_ca_file = models.CharField(
        max_length=500, blank=True, help_text=_("PEM file of the authority of its certificate")
    )
    prometheus_tenant = models.CharField(
        max_length=150,
        blank=True,
        validators=[is_tenant],
        help_text=_("of Mimir, Cortex or Thanos, where it holds series of several"),
    )
    metrics_interval_s = models.PositiveIntegerField(
        default=30,
        validators=[
            MinValueValidator(
                3, _("Flink renews its metrics every 10 s at most; give 3 s or more.")
            )
        ],
    )

    labels = models.JSONField(
        default=dict,
        blank=True,
        editable=False,
        help_text="names with texts, such as team; alerts carry them",
    )
    found_by = models.CharField(
        max_length=100,
        blank=True,
        editable=False,
        help_text="the source that found it; empty: added by hand",
    )
    left_at = models.DateTimeField(
        null=True, editable=False, help_text="since when its source does not list it any more"
    )
    operator = models.JSONField(
        default=dict,
        blank=True,
        editable=False,
        help_text="what the operator of a Kubernetes says of it",
    )
    operator_state = models.CharField(
        max_length=12,
        blank=True,
        editable=False,
        choices=OperatorState.choices,
        default=OperatorState.NONE,
        help_text=(
            "broken: no JobManager runs, as the operator says; suspended: none is meant to run"
        ),
    )
    pods = models.JSONField(
        default=list,
        blank=True,
        editable=False,
        help_text="what the API server of a Kubernetes says of its pods",
    )
    shard = models.PositiveIntegerField(default=0, editable=False)
    cursor = models.JSONField(default=dict, blank=True, editable=False)
    fingerprint = models.CharField(
        max_length=128,
        blank=True,
        editable=False,
        help_text="of the recording this was imported from",
    )
    created_at = models.DateTimeField(auto_now_add=True)
    last_collected_at = models.DateTimeField(null=True, editable=False)
    last_success_at = models.DateTimeField(null=True, editable=False)
    last_error = MessageField(null=True, editable=False)
    last_requests = models.PositiveIntegerField(null=True, editable=False)
    last_skips = models.PositiveIntegerField(null=True, editable=False)
    jobs_seen = models.PositiveIntegerField(null=True, editable=False)
    consecutive_failures = models.PositiveIntegerField(default=0, editable=False)
    consecutive_refusals = models.PositiveIntegerField(
        default=0, editable=False, help_text="failures in a row where no process listened"
    )
    failing_since = models.DateTimeField(
        null=True, editable=False, help_text="when it was first asked in vain; null if it answers"
    )
    unreachable_since = models.DateTimeField(null=True, editable=False)
    slow_since = models.DateTimeField(
        null=True, editable=False, help_text="since when its shard does not wait for it"
    )
    flink_version = models.CharField(max_length=64, null=True, editable=False)
    sampled_every_s = models.FloatField(
        null=True, editable=False, help_text="how often healthy jobs are sampled at present"
    )
    misses = MessagesField(
        default=list,
        blank=True,
        editable=False,
        help_text="what the last connection test could not read, and why",
    )

    objects: ClassVar = ClusterQuerySet.as_manager()

    class Meta:
        ordering = ["name"]
        indexes = [models.Index(fields=["kind", "enabled", "shard"], name="cluster_shard")]

    def __str__(self) -> str:
        return self.name

    def clean(self) -> None:
        if self.kind == ClusterKind.LIVE and not any(
            source.suffices and getattr(self, source.settings[0].field)
            for source in source_registry.sources()
        ):
            raise ValidationError(
                gettext(
                    "Give at least one source: an address, a History Server, a Prometheus or logs."
                )
            )
        self.check_log_store()
        for auth in ("auth", "prometheus_auth"):
            if getattr(self, f"{auth}_scheme") == AuthScheme.BASIC and not getattr(
                self, f"{auth}_user"
            ):
                raise ValidationError({f"{auth}_user": gettext("Basic sign-in needs a user.")})
        if bool(self.client_cert_file) != bool(self.client_key_file):
            raise ValidationError(
                {"client_cert_file": gettext("A client certificate and its key belong together.")}
            )
        for field in ("ca_file", "client_cert_file", "client_key_file", "prometheus_ca_file"):
            path = getattr(self, field)
            if path and not _is_file(path):
                raise ValidationError(
                    {field: gettext("There is no file %(path)s on this machine.") % {"path": path}}
                )
        try:
            zone_of("", layout_of(self.log_layout))
        except Refused as error:
            raise ValidationError({"log_layout": localised(str(error))}) from error
        for setting in source_registry.settings("address", "place", "places"):
            self._check_entered(setting)

    def _check_entered(self, setting: Setting) -> None:
        entered = getattr(self, setting.field)
        if setting.holds == "places" and not (
            isinstance(entered, list) and all(isinstance(text, str) and text for text in entered)
        ):
            raise ValidationError({setting.field: gettext("Give a list of paths or globs.")})
        for place in entered if setting.holds == "places" else [entered]:
            try:
                check_uri(place)  # uses DNS; every connection is checked again
            except RefusedAddress as error:
                raise ValidationError({setting.field: localised(f"{error.strerror}.")}) from error
            if setting.holds != "address" and (refusal := refusal_of_entry(place)):
                raise ValidationError({setting.field: localised(refusal)})

    def save(self, *args: Any, **kwargs: Any) -> None:
        require_same_reading(self, READ_FIELDS, kwargs.get("update_fields"))
        if self._state.adding:
            RemovedCluster.objects.filter(name=self.name).delete()
        super().save(*args, **kwargs)

    def delete(self, *args: Any, **kwargs: Any) -> tuple[int, dict[str, int]]:
        RemovedCluster.objects.get_or_create(name=self.name)
        for spool in (spool_of, pulled_spool_of, metrics_spool_of):
            transaction.on_commit(spool(self.name).discard)
        return super().delete(*args, **kwargs)

    def source(self) -> ClusterSource:
        """The cluster for collectors, with decrypted secrets."""
        pulled = pulled_spool_of(self.name)
        store = self.log_store_source(str(pulled.folder))
        spool_globs = [
            *([spool_of(self.name).glob] if self.logs_are_pushed else []),
            *([pulled.glob] if store else []),
        ]
        metrics = metrics_spool_of(self.name).folder
        return ClusterSource(
            name=self.name,
            url=self.url,
            history_url=self.history_url,
            auth=auth_of(self.auth_scheme, self.auth_user, self.auth_secret_encrypted),
            tls=Tls(self.ca_file, self.client_cert_file, self.client_key_file, self.verify_tls),
            logs=LogSource(
                (*self.log_globs, *spool_globs),
                self.log_layout,
                self.time_zone,
                own_globs=tuple(spool_globs),
            ),
            log_store=store,
            pushed_metrics=str(metrics) if self.logs_are_pushed and metrics.is_dir() else "",
            settings={
                setting.field: getattr(self, setting.field)
                for setting in source_registry.settings()
            },
            prometheus=self._prometheus(),
            metrics_interval_s=self.metrics_interval_s,
            operator_events=events_of(self.operator),
            pods=pods_of(self.pods),
        )

    @property
    def shown_address(self) -> str:
        """The first address entered; "" if there are only log files."""
        fields = [
            setting.field
            for source in source_registry.sources()
            if source.suffices
            for setting in source.settings
            if setting.holds in ("address", "place")
        ]
        return next(filter(None, (getattr(self, name) for name in fields)), "")

    @property
    def operator_message(self) -> str:
        """One line of the operator's report."""
        text = self.operator.get("sentence") if isinstance(self.operator, dict) else ""
        return text if isinstance(text, str) else ""

    def _prometheus(self) -> PrometheusSource | None:
        if not self.prometheus_url:
            return None
        auth = auth_of(
            self.prometheus_auth_scheme, self.prometheus_auth_user, self.prometheus_secret_encrypted
        )
        return PrometheusSource(
            self.prometheus_url,
            self.prometheus_selector,
            auth,
            self.prometheus_ca_file,
            self.prometheus_tenant,
        )

    @property
    def missed_cycles(self) -> int:
        """Missed cycles in a row. Refused connections count sooner, but not for clusters of an
        operator, which restarts them at upgrades.
        """
        if self.last_collected_at is None:
            return 0
        since = self.last_success_at or self.created_at
        silent_s = (self.last_collected_at - since).total_seconds()
        refusals = 0 if self.operator else self.consecutive_refusals
        return max(
            min(self.consecutive_failures, int(silent_s // settings.WEIR.judged_every_s)),
            min(refusals, int(silent_s // REFUSED_EVERY_S)),
            0,
        )

    def visibility_at(self, now: datetime) -> Visibility:
        if self.kind == ClusterKind.RECORDING:
            return Visibility.RECORDING
        if self.left_at:
            return Visibility.LEFT
        if not self.enabled:
            return Visibility.PAUSED
        if self.operator_state:
            is_broken = self.operator_state == OperatorState.BROKEN
            return Visibility.BROKEN if is_broken else Visibility.SUSPENDED
        if self.last_collected_at is None:
            return Visibility.NEW
        is_silent = self.last_success_at is None or self.last_success_at < now - silence_allowed()
        return Visibility.UNREACHABLE if self.unreachable_since or is_silent else Visibility.LIVE

    @property
    def visibility(self) -> Visibility:
        return self.visibility_at(timezone.now())


_FIELDS = Cluster._meta.concrete_fields
ENTERED = tuple(
    field.name
    for field in _FIELDS
    if field.editable and field.name not in {"id", "name", "kind", "enabled"}
)
SECRETS = tuple(field.name for field in _FIELDS if field.name.endswith("_encrypted"))
READ_FIELDS = frozenset({*ENTERED, *SECRETS}) - HOW_READ
"""Only users who see the whole fleet may change these."""


@scoped(by="name")
class RemovedCluster(models.Model):
    """Late rows must not register the cluster again, as a recording."""

    name = models.CharField(max_length=100, unique=True)
    removed_at = models.DateTimeField(auto_now_add=True)
    because = MessageField(
        blank=True,
        help_text="what happened, behind the name of the cluster; empty: somebody removed it",
    )

    def __str__(self) -> str:
        return self.name

    @property
    def how(self) -> str:
        """The end of a sentence that begins with the name of the cluster."""
        return self.because or "was removed from Weir"


def _is_file(path: str) -> bool:
    try:
        return Path(path).is_file()
    except (OSError, ValueError):
        return False
