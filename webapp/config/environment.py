"""The environment variables of Weir, read once at start: defaults and valid values."""

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from ingest import log_lines, privacy
from webapp.config import databases, secrets
from webapp.config import setting_checks as check
from webapp.config.readers import flag, number, secret, text, text_map, words

PROJECT_DIR = Path(__file__).resolve().parent.parent.parent

_YEAR_S = 31_536_000
_DAY_S = 86_400


def _read(reader: Callable[..., Any], *arguments: Any, hidden: bool = False) -> Any:
    return field(default_factory=partial(reader, *arguments), repr=not hidden)


_read_hidden = partial(_read, hidden=True)


def _home() -> Path:
    return (
        Path(
            text(
                "WEIR_HOME",
                str(PROJECT_DIR / "var"),
                "a folder to keep Weir's state in",
                check.may_be_folder,
            )
        )
        .expanduser()
        .absolute()
    )


def _place(name: str, folder: str) -> str:
    """A URI or an absolute path; by default ``folder`` in ``WEIR_HOME``."""
    place = text(
        name,
        str(_home() / folder),
        "a path or a URI such as hdfs://namenode/weir or s3://bucket/weir",
        check.is_place,
    )
    return place if "://" in place else str(Path(place).expanduser().absolute())


def _umask() -> int:
    return int(text("WEIR_UMASK", privacy.DEFAULT, privacy.EXPECTED, privacy.is_mask), 8)


def _hsts_s() -> int:
    return number("WEIR_HSTS_S", _YEAR_S if flag("WEIR_HTTPS", False) else 0, 0, 10 * _YEAR_S)


def _public_url() -> str:
    return text(
        "WEIR_PUBLIC_URL",
        "http://127.0.0.1:8000",
        "an origin such as https://weir.example.org",
        check.is_origin,
    ).rstrip("/")


def _secret_key() -> str:
    key = secret("WEIR_SECRET_KEY", "at least 50 characters", lambda key: len(key) >= 50)
    return key or secrets.read_or_create(_home(), "secret_key", secrets.new_secret_key)


def _field_keys() -> tuple[str, ...]:
    expected = "Fernet keys separated by commas, first the one to encrypt with"
    keys = secret("WEIR_FIELD_KEYS", expected, secrets.are_field_keys)
    keys = keys or secrets.read_or_create(_home(), "field_keys", secrets.new_field_key)
    return tuple(key.strip() for key in keys.split(","))


def _database() -> dict[str, Any]:
    return databases.from_environment("WEIR_DATABASE_URL", _home() / "weir.sqlite3")


def _redis_url() -> str:
    """By default the URL in ``redis.url``, of the embedded server, else "": commands work without
    Redis.
    """
    file = _home() / "redis.url"
    default = file.read_text().strip() if file.is_file() else ""
    return secret(
        "WEIR_REDIS_URL",
        "redis://host:6379/0, rediss://host:6379/0 or unix:///path/redis.sock",
        check.is_redis,
        default,
    )


@dataclass(frozen=True)
class Environment:
    """Paths are absolute; ``*_s`` are seconds. A new instance reads all variables, and raises
    ``RefusedSetting`` at the first invalid one.
    """

    home: Path = _read(_home)
    umask: int = _read(_umask)
    debug: bool = _read(flag, "WEIR_DEBUG", False)
    bind: str = _read(
        text,
        "WEIR_BIND",
        "127.0.0.1:8000",
        "an address and port such as 127.0.0.1:8000",
        check.is_bind,
    )
    allowed_hosts: list[str] = _read(
        words,
        "WEIR_ALLOWED_HOSTS",
        ["localhost", "127.0.0.1", "[::1]"],
        "host names",
        check.is_host,
    )
    trusted_origins: list[str] = _read(
        words,
        "WEIR_CSRF_TRUSTED_ORIGINS",
        [],
        "origins such as https://weir.example.org",
        check.is_origin,
    )
    https: bool = _read(flag, "WEIR_HTTPS", False)
    behind_proxy: bool = _read(flag, "WEIR_BEHIND_PROXY", False)
    hsts_s: int = _read(_hsts_s)
    metrics_public: bool = _read(flag, "WEIR_METRICS_PUBLIC", False)
    metrics_most_jobs: int = _read(number, "WEIR_METRICS_MOST_JOBS", 5_000, 1, 100_000)
    session_age_s: int = _read(number, "WEIR_SESSION_AGE_S", 12 * 3600, 300, 30 * _DAY_S)
    session_idle_s: int = _read(number, "WEIR_SESSION_IDLE_S", 4 * 3600, 0, 30 * _DAY_S)
    requests_per_min: int = _read(number, "WEIR_REQUESTS_PER_MIN", 1200, 0, 1_000_000)
    oidc_issuer: str = _read(
        text,
        "WEIR_OIDC_ISSUER",
        "",
        "the https address of an OpenID Connect issuer",
        check.is_issuer,
    )
    oidc_client_id: str = _read(
        text, "WEIR_OIDC_CLIENT_ID", "", "the id that the provider knows Weir by", bool
    )
    oidc_client_secret: str = _read_hidden(
        secret, "WEIR_OIDC_CLIENT_SECRET", "the secret of that client", bool
    )
    oidc_label: str = _read(text, "WEIR_OIDC_LABEL", "single sign-on", "a few words", bool)
    oidc_scopes: str = _read(
        text,
        "WEIR_OIDC_SCOPES",
        "openid profile email",
        "scopes with openid",
        lambda scopes: "openid" in scopes.split(),
    )
    oidc_name_claim: str = _read(
        text, "WEIR_OIDC_NAME_CLAIM", "preferred_username", "the name of a claim", bool
    )
    oidc_role_claim: str = _read(
        text, "WEIR_OIDC_ROLE_CLAIM", "groups", "the name of a claim", bool
    )
    oidc_scope_claim: str = _read(
        text, "WEIR_OIDC_SCOPE_CLAIM", "groups", "the name of a claim", bool
    )
    oidc_roles: dict[str, str] = _read(
        text_map,
        "WEIR_OIDC_ROLES",
        'a JSON object such as {"flink-admins": "admin", "*": "viewer"}',
        check.are_roles,
    )
    oidc_sees: dict[str, str] = _read(
        text_map,
        "WEIR_OIDC_SEES",
        """a JSON object such as {"payments": "team=\\"payments\\"", "sre": "*"}""",
    )
    oidc_allowed: list[str] = _read(
        words, "WEIR_OIDC_ALLOWED", [], "mail addresses or @domains", lambda word: "@" in word
    )
    lake_root: str = _read(_place, "WEIR_LAKE_ROOT", "lake")
    runs_root: str = _read(_place, "WEIR_RUNS_ROOT", "runs")
    sources: str = _read(
        text,
        "WEIR_SOURCES",
        "",
        "the path of a YAML file that declares sources of clusters",
        check.is_absolute,
    )
    keep_runs: int = _read(number, "WEIR_KEEP_RUNS", 10, 1, 10_000)
    keep_routine_days: int = _read(number, "WEIR_KEEP_ROUTINE_DAYS", 7, 7, 90)
    keep_runs_days: int = _read(number, "WEIR_KEEP_RUNS_DAYS", 30, 30, 3650)
    keep_notable_days: int = _read(number, "WEIR_KEEP_NOTABLE_DAYS", 90, 90, 3650)
    keep_audit_days: int = _read(number, "WEIR_KEEP_AUDIT_DAYS", 400, 90, 3650)
    keep_sums_days: int = _read(number, "WEIR_KEEP_SUMS_DAYS", 730, 400, 36_500)
    least_free_mb: int = _read(number, "WEIR_LEAST_FREE_MB", 1024, 16, 100_000_000)
    most_kept_mb: int = _read(number, "WEIR_MOST_KEPT_MB", 0, 0, 1_000_000_000)
    log_format: str = _read(
        text, "WEIR_LOG_FORMAT", log_lines.TEXT, "text or json", log_lines.FORMS.__contains__
    )
    alive_file: str = _read(
        text,
        "WEIR_ALIVE_FILE",
        "",
        "the path of a file that workers and beat touch",
        check.is_absolute,
    )
    demo: bool = _read(flag, "WEIR_DEMO", True)
    collect_interval_s: int = _read(number, "WEIR_COLLECT_INTERVAL_S", 8, 3, 3600)
    spark_interval_s: int = _read(number, "WEIR_SPARK_INTERVAL_S", 8, 3, _DAY_S)
    rollups_interval_s: int = _read(number, "WEIR_ROLLUPS_INTERVAL_S", 120, 3, _DAY_S)
    spark_timeout_s: int = _read(number, "WEIR_SPARK_TIMEOUT_S", 1800, 10, _DAY_S)
    most_rows_without_spark: int = _read(
        number, "WEIR_MOST_ROWS_WITHOUT_SPARK", 40_000, 0, 1_000_000
    )
    storage_audit_h: int = _read(number, "WEIR_STORAGE_AUDIT_H", 6, 1, 24 * 31)
    storage_age_guard_h: int = _read(number, "WEIR_STORAGE_AGE_GUARD_H", 72, 24, 24 * 365)
    storage_keep_audits: int = _read(number, "WEIR_STORAGE_KEEP_AUDITS", 4, 2, 1000)
    storage_threads: int = _read(number, "WEIR_STORAGE_THREADS", 8, 1, 64)
    metadata_per_cycle: int = _read(number, "WEIR_METADATA_PER_CYCLE", 20, 0, 1000)
    metadata_max_bytes: int = _read(number, "WEIR_METADATA_MAX_BYTES", 8 << 20, 1 << 10, 1 << 30)
    plans_root: str = _read(_place, "WEIR_PLANS_ROOT", "plans")
    plan_expires_h: int = _read(number, "WEIR_PLAN_EXPIRES_H", 72, 1, 24 * 31)
    quarantine_h: int = _read(number, "WEIR_QUARANTINE_H", 168, 1, 24 * 365)
    cleanup_files_per_s: int = _read(number, "WEIR_CLEANUP_FILES_PER_S", 200, 1, 100_000)
    public_url: str = _read(_public_url)
    alert_group_wait_s: int = _read(number, "WEIR_ALERT_GROUP_WAIT_S", 10, 0, 3600)
    alert_group_interval_s: int = _read(number, "WEIR_ALERT_GROUP_INTERVAL_S", 300, 0, _DAY_S)
    alert_repeat_s: int = _read(number, "WEIR_ALERT_REPEAT_S", 4 * 3600, 60, 30 * _DAY_S)
    webhook_allow_http: bool = _read(flag, "WEIR_WEBHOOK_ALLOW_HTTP", False)
    webhook_allowed_networks: list[str] = _read(
        words,
        "WEIR_WEBHOOK_ALLOWED_NETWORKS",
        [],
        "private networks alerts may be sent to, such as 10.0.0.0/8",
        check.is_network,
    )
    cluster_allowed_networks: list[str] = _read(
        words,
        "WEIR_CLUSTER_ALLOWED_NETWORKS",
        [],
        "networks clusters may be in, such as 10.0.0.0/8",
        check.is_network,
    )
    """Only checked here: :mod:`ingest.network.clusters` reads it at every connection."""
    read_dirs: list[str] = _read(
        words, "WEIR_READ_DIRS", [], "absolute paths of directories", check.is_absolute
    )
    """Only checked here: :mod:`ingest.local_directories` reads it whenever it looks for files."""
    mail_from: str = _read(
        text,
        "WEIR_MAIL_FROM",
        "weir@localhost",
        "an address such as weir@example.org",
        check.is_mail_address,
    )
    smtp_url: str = _read_hidden(
        secret,
        "WEIR_SMTP_URL",
        "smtp://host:25, smtp+starttls://user:password@host:587 or smtps://…",
        check.is_smtp,
    )
    secret_key: str = _read_hidden(_secret_key)
    field_keys: tuple[str, ...] = _read_hidden(_field_keys)
    database: dict[str, Any] = _read_hidden(_database)
    redis_url: str = _read_hidden(_redis_url)
    lake_options: dict[str, str] = _read_hidden(
        text_map,
        "WEIR_LAKE_OPTIONS",
        'a JSON object of texts such as {"AWS_REGION": "eu-central-1"}',
    )
    storage_aliases: dict[str, str] = _read(
        text_map,
        "WEIR_STORAGE_ALIASES",
        'a JSON object of prefixes such as {"hdfs://nn1:8020": "hdfs://ns"}',
    )

    @property
    def judged_every_s(self) -> int:
        """Least time between judgements of whether a cluster answers: a JobManager that fails over
        is away for half a minute, however often it is asked.
        """
        return max(self.collect_interval_s, 30)

    @property
    def sqlite_file(self) -> str:
        """The path; "" with another database."""
        return str(self.database["NAME"]) if self.database["ENGINE"].endswith("sqlite3") else ""
