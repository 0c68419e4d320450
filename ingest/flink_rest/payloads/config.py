"""Settings, without secrets: ``/jobs/:id/checkpoints/config``, ``/jobs/:id/config``,
``/jobmanager/config`` and ``/config``.
"""

from typing import Any

from ingest.errors import Skipped
from ingest.flink_rest.faults import SAYS_NO_CHECKPOINTS
from ingest.flink_rest.payloads.checkpoints import COUNTERS
from ingest.flink_rest.payloads.fields import Fields, clean_text, elements
from ingest.flink_rest.versions import MAX_VERSION_CHARS, UNKNOWN
from ingest.json_members import as_list, member
from ingest.records import Setting
from ingest.redaction.marks import MASK
from ingest.redaction.names import holds_secret
from ingest.redaction.texts import redact

KEPT_PREFIXES = (
    "execution.checkpointing.",
    "execution.savepoint",
    "execution.state-recovery.",
    "state.",
    "dstl.",
    "restart-strategy",
    "jobmanager.memory.",
    "jobmanager.execution.failover-strategy",
    "jobmanager.scheduler",
    "scheduler-mode",
    "taskmanager.memory.",
    "taskmanager.network.memory.",
    "taskmanager.numberOfTaskSlots",
    "taskmanager.load-balance.mode",
    "cluster.evenly-spread-out-slots",
    "taskmanager.cpu.cores",
    "parallelism.default",
    "web.checkpoints.history",
    "high-availability.type",
)
KEPT_KEYS = ("high-availability",)
"""In 1.x, the type's key. Other keys with this prefix are addresses and directories."""
_MAX_VALUE_CHARS = 4096


def flink_version(body: Any) -> str | None:
    version = Fields(body).text("flink-version")
    return clean_text(version, MAX_VERSION_CHARS) if version and version != UNKNOWN else None


def checkpoint_settings(body: Any) -> dict[str, Any]:
    fields = Fields(body)
    external = fields.object("externalization")
    externalized = external.flag("enabled") if external else None
    deleted = external.flag("delete_on_cancellation") if external else None
    return {
        "checkpointing_mode": _lower(fields.text("mode")),
        # Flink sends Long.MAX if periodic checkpoints are off.
        "checkpoint_interval_ms": fields.duration_ms("interval"),
        "checkpoint_timeout_ms": fields.duration_ms("timeout"),
        "min_pause_ms": fields.duration_ms("min_pause"),
        "max_concurrent_checkpoints": fields.integer("max_concurrent"),
        "externalized": externalized,
        "retained_on_cancellation": None
        if externalized is None
        else externalized and deleted is False,
        "unaligned_checkpoints": fields.flag("unaligned_checkpoints"),
        "aligned_checkpoint_timeout_ms": fields.duration_ms("aligned_checkpoint_timeout"),
        "tolerable_failed_checkpoints": fields.integer("tolerable_failed_checkpoints"),
        "state_backend": fields.text("state_backend"),
        "checkpoint_storage": fields.text("checkpoint_storage"),
        "changelog_enabled": fields.flag("state_changelog_enabled"),
    }


def no_checkpoints(body: Any) -> dict[str, int]:
    is_off = any(SAYS_NO_CHECKPOINTS in str(text) for text in as_list(member(body, "errors")))
    return dict.fromkeys(COUNTERS, 0) if is_off else {}


def cluster_settings(body: Any) -> tuple[Setting, ...]:
    settings = {}
    for place, item in elements(body):
        entry = Fields(item, place)
        key = entry.required_text("key")
        if key.startswith(KEPT_PREFIXES) or key in KEPT_KEYS:
            settings[key] = _safe_value(key, entry)
    return tuple(Setting(key, value) for key, value in sorted(settings.items()))


def job_settings(body: Any) -> tuple[Setting, ...]:
    """The restart strategy. User parameters are not stored: they may hold secrets."""
    execution = Fields(body).object("execution-config")
    strategy = execution.text("restart-strategy") if execution else None
    return (Setting("job.restart-strategy", strategy),) if strategy else ()


def _safe_value(key: str, entry: Fields) -> str:
    value = entry.raw("value")
    if holds_secret(key):
        return MASK
    if value is not None and not isinstance(value, str | int | float):
        raise Skipped(f"{entry.place}.value: expected a text")
    return redact(clean_text(str(value), _MAX_VALUE_CHARS) or "") if value is not None else ""


def _lower(text: str | None) -> str | None:
    return text.lower() if text else None
