"""What the environment says, read once at start: every variable Weir knows, its default and what it may be."""

import ipaddress
import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from ingest import privacy
from webapp.config import databases, secrets
from webapp.config.readers import RefusedSetting, flag, number, secret, text, text_map, words

PROJECT_DIR = Path(__file__).resolve().parent.parent.parent

_BIND = re.compile(r"^(\[[0-9a-fA-F:]+\]|[A-Za-z0-9.-]+):(\d{1,5})$")
_REDIS = re.compile(r"^(rediss?://[^/]|(redis\+socket|unix):///)")
_SMTP = re.compile(r"^(smtp|smtps|smtp\+starttls)://([^/@\s]+@)?[A-Za-z0-9.\[\]:-]+/?$")
_YEAR_S = 31_536_000
_DAY_S = 86_400


@dataclass(frozen=True)
class Environment:
    """All settings that come from outside. Paths are absolute; ``*_s`` are seconds."""

    home: Path
    umask: int
    debug: bool
    bind: str
    allowed_hosts: list[str]
    trusted_origins: list[str]
    https: bool
    behind_proxy: bool
    hsts_s: int
    metrics_public: bool
    session_age_s: int
    lake_root: str
    runs_root: str
    keep_runs: int
    demo: bool
    collect_interval_s: int
    spark_interval_s: int
    rollups_interval_s: int
    spark_timeout_s: int
    most_rows_without_spark: int
    storage_audit_h: int
    storage_age_guard_h: int
    storage_keep_audits: int
    storage_threads: int
    flame_graphs: bool
    metadata_per_cycle: int
    metadata_max_bytes: int
    plans_root: str
    plan_expires_h: int
    quarantine_h: int
    cleanup_files_per_s: int
    public_url: str
    reports_root: str
    chromium: str
    weekly_digest: str
    alert_group_wait_s: int
    alert_group_interval_s: int
    alert_repeat_s: int
    webhook_allow_http: bool
    webhook_allowed_networks: tuple[str, ...]
    cluster_allowed_networks: tuple[str, ...]
    """Read again by :mod:`ingest.network.clusters` at every connection, also for commands without Django."""
    mail_from: str
    secret_key: str = field(repr=False)
    field_keys: tuple[str, ...] = field(repr=False)
    database: dict[str, Any] = field(repr=False)
    redis_url: str = field(repr=False)
    smtp_url: str = field(repr=False)
    lake_options: dict[str, str] = field(repr=False)
    storage_aliases: dict[str, str] = field(default_factory=dict)

    @property
    def judged_every_s(self) -> int:
        """How often clusters are to have been asked before silence is taken for one: however often they are, a JobManager that
        fails over is away for half a minute."""
        return max(self.collect_interval_s, 30)

    @property
    def sqlite_file(self) -> str:
        """Empty with any other database."""
        return str(self.database["NAME"]) if self.database["ENGINE"].endswith("sqlite3") else ""


def load() -> Environment:
    """Read every variable; raises :class:`RefusedSetting` at the first that makes no sense."""
    home = Path(text("WEIR_HOME", str(PROJECT_DIR / "var"), "a folder to keep Weir's state in", _may_be_folder)).expanduser().absolute()
    https = flag("WEIR_HTTPS", False)
    return Environment(
        home=home,
        umask=int(text("WEIR_UMASK", privacy.DEFAULT, privacy.EXPECTED, privacy.is_mask), 8),
        debug=flag("WEIR_DEBUG", False),
        bind=text("WEIR_BIND", "127.0.0.1:8000", "an address and port such as 127.0.0.1:8000", _is_bind),
        allowed_hosts=words("WEIR_ALLOWED_HOSTS", ["localhost", "127.0.0.1", "[::1]"], "host names", _is_host),
        trusted_origins=words("WEIR_CSRF_TRUSTED_ORIGINS", [], "origins such as https://weir.example.org", _is_origin),
        https=https,
        behind_proxy=flag("WEIR_BEHIND_PROXY", False),
        hsts_s=number("WEIR_HSTS_S", _YEAR_S if https else 0, 0, 10 * _YEAR_S),
        metrics_public=flag("WEIR_METRICS_PUBLIC", False),
        session_age_s=number("WEIR_SESSION_AGE_S", 12 * 3600, 300, 30 * _DAY_S),
        lake_root=_place("WEIR_LAKE_ROOT", home / "lake"),
        runs_root=_place("WEIR_RUNS_ROOT", home / "runs"),
        keep_runs=number("WEIR_KEEP_RUNS", 10, 1, 10_000),
        demo=flag("WEIR_DEMO", True),
        collect_interval_s=number("WEIR_COLLECT_INTERVAL_S", 8, 3, 3600),
        spark_interval_s=number("WEIR_SPARK_INTERVAL_S", 8, 3, _DAY_S),
        rollups_interval_s=number("WEIR_ROLLUPS_INTERVAL_S", 120, 3, _DAY_S),
        spark_timeout_s=number("WEIR_SPARK_TIMEOUT_S", 1800, 10, _DAY_S),
        most_rows_without_spark=number("WEIR_MOST_ROWS_WITHOUT_SPARK", 40_000, 0, 1_000_000),
        storage_audit_h=number("WEIR_STORAGE_AUDIT_H", 6, 1, 24 * 31),
        storage_age_guard_h=number("WEIR_STORAGE_AGE_GUARD_H", 72, 24, 24 * 365),
        storage_keep_audits=number("WEIR_STORAGE_KEEP_AUDITS", 4, 2, 1000),
        storage_threads=number("WEIR_STORAGE_THREADS", 8, 1, 64),
        flame_graphs=flag("WEIR_FLAME_GRAPHS", False),
        metadata_per_cycle=number("WEIR_METADATA_PER_CYCLE", 20, 0, 1000),
        metadata_max_bytes=number("WEIR_METADATA_MAX_BYTES", 8 << 20, 1 << 10, 1 << 30),
        plans_root=_place("WEIR_PLANS_ROOT", home / "plans"),
        plan_expires_h=number("WEIR_PLAN_EXPIRES_H", 72, 1, 24 * 31),
        quarantine_h=number("WEIR_QUARANTINE_H", 168, 1, 24 * 365),
        cleanup_files_per_s=number("WEIR_CLEANUP_FILES_PER_S", 200, 1, 100_000),
        public_url=text("WEIR_PUBLIC_URL", "http://127.0.0.1:8000", "an origin such as https://weir.example.org", _is_origin).rstrip("/"),
        alert_group_wait_s=number("WEIR_ALERT_GROUP_WAIT_S", 10, 0, 3600),
        alert_group_interval_s=number("WEIR_ALERT_GROUP_INTERVAL_S", 300, 0, _DAY_S),
        alert_repeat_s=number("WEIR_ALERT_REPEAT_S", 4 * 3600, 60, 30 * _DAY_S),
        reports_root=text("WEIR_REPORTS_ROOT", str(home / "reports"), "a folder to keep the files of reports in", _may_be_folder),
        chromium=text("WEIR_CHROMIUM", "", "the name or path of a Chromium", lambda value: "\0" not in value),
        weekly_digest=text("WEIR_WEEKLY_DIGEST", "mon 06:00", "a weekday and a time in UTC such as 'mon 06:00', or off", _is_weekly),
        webhook_allow_http=flag("WEIR_WEBHOOK_ALLOW_HTTP", False),
        webhook_allowed_networks=tuple(
            words("WEIR_WEBHOOK_ALLOWED_NETWORKS", [], "private networks alerts may be sent to, such as 10.0.0.0/8", _is_network)
        ),
        cluster_allowed_networks=tuple(
            words("WEIR_CLUSTER_ALLOWED_NETWORKS", [], "networks clusters may be in, such as 10.0.0.0/8", _is_network)
        ),
        mail_from=text("WEIR_MAIL_FROM", "weir@localhost", "an address such as weir@example.org", _is_mail_address),
        smtp_url=secret("WEIR_SMTP_URL", "smtp://host:25, smtp+starttls://user:password@host:587 or smtps://…", _is_smtp),
        secret_key=secret("WEIR_SECRET_KEY", "at least 50 characters", lambda key: len(key) >= 50)
        or secrets.kept(home, "secret_key", secrets.new_secret_key),
        field_keys=_field_keys(home),
        database=databases.from_environment("WEIR_DATABASE_URL", home / "weir.sqlite3"),
        redis_url=_redis_url(home),
        lake_options=text_map("WEIR_LAKE_OPTIONS", 'a JSON object of texts such as {"AWS_REGION": "eu-central-1"}'),
        storage_aliases=text_map("WEIR_STORAGE_ALIASES", 'a JSON object of prefixes such as {"hdfs://nn1:8020": "hdfs://ns"}'),
    )


def _is_smtp(url: str) -> bool:
    return bool(_SMTP.match(url))


def _field_keys(home: Path) -> tuple[str, ...]:
    expected = "Fernet keys separated by commas, first the one to encrypt with"
    given = secret("WEIR_FIELD_KEYS", expected, secrets.are_field_keys) or secrets.kept(home, "field_keys", secrets.new_field_key)
    return tuple(key.strip() for key in given.split(","))


def _redis_url(home: Path) -> str:
    """As given, else what the embedded server noted in ``redis.url``, else "": commands work without any."""
    note = home / "redis.url"
    noted = note.read_text().strip() if note.is_file() else ""
    expected = "redis://host:6379/0, rediss://host:6379/0 or unix:///path/redis.sock"
    return secret("WEIR_REDIS_URL", expected, lambda url: bool(_REDIS.match(url)), noted)


def _place(name: str, default: Path) -> str:
    """A URI as it is, a path made absolute."""
    given = text(name, str(default), "a path or a URI such as hdfs://namenode/weir or s3://bucket/weir", _is_place)
    return given if "://" in given else str(Path(given).expanduser().absolute())


def _may_be_folder(path: str) -> bool:
    folder = Path(path).expanduser()
    return "\0" not in path and (folder.is_dir() or not folder.exists())


def _is_place(place: str) -> bool:
    scheme, separator, rest = place.partition("://")
    return bool(re.fullmatch(r"[a-z][a-z0-9+.-]*", scheme) and rest) if separator else not re.match(r"^[a-z0-9]+:[^/\\]", place)


def _is_bind(bind: str) -> bool:
    match = _BIND.match(bind)
    return match is not None and 0 < int(match[2]) < 65536


def _is_host(host: str) -> bool:
    return bool(re.fullmatch(r"\*|\.?[A-Za-z0-9_-]+(\.[A-Za-z0-9_-]+)*|\[[0-9a-fA-F:]+\]", host))


def _is_origin(origin: str) -> bool:
    try:
        url = urlsplit(origin)
        return url.scheme in ("http", "https") and bool(url.hostname) and not url.path.strip("/")
    except ValueError:
        return False


def _is_weekly(time: str) -> bool:
    return bool(re.fullmatch(r"off|(mon|tue|wed|thu|fri|sat|sun) ([01]\d|2[0-3]):[0-5]\d", time))


def _is_network(network: str) -> bool:
    try:
        return bool(ipaddress.ip_network(network.strip()))
    except ValueError:
        return False


def _is_mail_address(address: str) -> bool:
    return bool(re.fullmatch(r"[^@\s<>,]+@[^@\s<>,]+", address))


__all__ = ["PROJECT_DIR", "Environment", "RefusedSetting", "load"]
