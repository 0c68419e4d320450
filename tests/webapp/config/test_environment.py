"""Settings that make no sense stop the start with one plain sentence; what is secret stays
secret.
"""

import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from webapp.config import environment
from webapp.config.databases import WAITS
from webapp.config.readers import RefusedSetting

CANARY = "canary-4711"


@pytest.fixture(autouse=True)
def clean(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in [name for name in os.environ if name.startswith("WEIR_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("WEIR_HOME", str(tmp_path / "home"))


@pytest.mark.parametrize(
    ("name", "value", "says"),
    [
        ("WEIR_DEBUG", "maybe", "true or false"),
        ("WEIR_HTTPS", "2", "true or false"),
        ("WEIR_UMASK", "022", "an octal mask that closes files to all others"),
        ("WEIR_UMASK", "777", "an octal mask"),
        ("WEIR_UMASK", "private", "an octal mask"),
        ("WEIR_BIND", "8000", "127.0.0.1:8000"),
        ("WEIR_BIND", "127.0.0.1:99999", "127.0.0.1:8000"),
        ("WEIR_ALLOWED_HOSTS", "http://weir", "host names"),
        ("WEIR_CSRF_TRUSTED_ORIGINS", "weir.example.org", "https://weir.example.org"),
        ("WEIR_COLLECT_INTERVAL_S", "0", "a whole number from 3 to 3600"),
        ("WEIR_COLLECT_INTERVAL_S", "30s", "a whole number from 3 to 3600"),
        ("WEIR_SPARK_INTERVAL_S", "-1", "a whole number from 3 to"),
        ("WEIR_SPARK_TIMEOUT_S", "1e9", "a whole number"),
        ("WEIR_KEEP_RUNS", "0", "a whole number from 1"),
        ("WEIR_LAKE_ROOT", "s3:bucket/weir", "s3://bucket/weir"),
        ("WEIR_LAKE_ROOT", "://x", "a path or a URI"),
        ("WEIR_LAKE_OPTIONS", "AWS_REGION=x", "a JSON object"),
        ("WEIR_LAKE_OPTIONS", '{"retries": 3}', "a JSON object of texts"),
        ("WEIR_DATABASE_URL", "mysql://u:p@h/db", "postgresql://"),
        ("WEIR_DATABASE_URL", "postgresql://u:p@h", "postgresql://"),
        ("WEIR_DATABASE_URL", "postgresql://u:p@h:port/db", "postgresql://"),
        ("WEIR_DATABASE_URL", "sqlite://relative/path", "sqlite:///absolute"),
        ("WEIR_REDIS_URL", "localhost:6379", "redis://"),
        ("WEIR_REDIS_URL", "http://localhost", "redis://"),
        ("WEIR_SECRET_KEY", "short", "at least 50 characters"),
        ("WEIR_FIELD_KEYS", "not-a-key", "Fernet keys"),
        ("WEIR_FIELD_KEYS", ",", "Fernet keys"),
    ],
)
def test_nonsense_is_refused_in_one_sentence(
    monkeypatch: pytest.MonkeyPatch, name: str, value: str, says: str
) -> None:
    monkeypatch.setenv(name, value)
    with pytest.raises(RefusedSetting) as refusal:
        environment.Environment()
    sentence = str(refusal.value)
    assert name in sentence
    assert says in sentence
    assert sentence.count("\n") == 0
    assert sentence.endswith(".")


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("WEIR_SECRET_KEY", CANARY),
        ("WEIR_FIELD_KEYS", CANARY),
        ("WEIR_DATABASE_URL", f"mysql://u:{CANARY}@h/db"),
        ("WEIR_REDIS_URL", f"http://:{CANARY}@h"),
        ("WEIR_LAKE_OPTIONS", f"AWS_SECRET_ACCESS_KEY={CANARY}"),
    ],
)
def test_a_refusal_does_not_show_secrets(
    monkeypatch: pytest.MonkeyPatch, name: str, value: str
) -> None:
    monkeypatch.setenv(name, value)
    with pytest.raises(RefusedSetting) as refusal:
        environment.Environment()
    assert CANARY not in str(refusal.value)


def test_settings_do_not_show_secrets_when_printed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WEIR_SECRET_KEY", CANARY * 10)
    monkeypatch.setenv("WEIR_DATABASE_URL", f"postgresql://u:{CANARY}@h/db")
    monkeypatch.setenv("WEIR_REDIS_URL", f"redis://:{CANARY}@h")
    monkeypatch.setenv("WEIR_LAKE_OPTIONS", f'{{"AWS_SECRET_ACCESS_KEY": "{CANARY}"}}')
    assert CANARY not in repr(environment.Environment())


def test_without_any_variable_everything_lies_under_the_home(tmp_path: Path) -> None:
    found = environment.Environment()
    home = tmp_path / "home"
    assert found.home == home
    assert (found.lake_root, found.runs_root) == (str(home / "lake"), str(home / "runs"))
    assert found.database["NAME"] == str(home / "weir.sqlite3")
    assert found.database["OPTIONS"]["transaction_mode"] == "IMMEDIATE"
    assert found.redis_url == ""


def test_generated_keys_are_kept_and_readable_by_the_owner_only(tmp_path: Path) -> None:
    first, second = environment.Environment(), environment.Environment()
    assert (first.secret_key, first.field_keys) == (second.secret_key, second.field_keys)
    for file in (tmp_path / "home" / "secrets").iterdir():
        assert stat.S_IMODE(file.stat().st_mode) == 0o600


def test_a_home_that_cannot_be_written_is_said_in_words(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    blocker = tmp_path / "file"
    blocker.touch()
    monkeypatch.setenv("WEIR_HOME", str(blocker))
    with pytest.raises(RefusedSetting, match="a folder to keep Weir's state in"):
        environment.Environment()


def test_postgresql_keeps_and_checks_its_connections(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(
        "WEIR_DATABASE_URL", "postgresql://weir:p%40ss@db.example.org:5433/weir?sslmode=require"
    )
    database = environment.Environment().database
    assert (database["USER"], database["PASSWORD"], database["HOST"], database["PORT"]) == (
        "weir",
        "p@ss",
        "db.example.org",
        5433,
    )
    assert database["OPTIONS"] == {"sslmode": "require"} | WAITS
    assert database["CONN_HEALTH_CHECKS"] is True


def test_the_embedded_redis_is_found_by_its_note(tmp_path: Path) -> None:
    (tmp_path / "home").mkdir()
    (tmp_path / "home" / "redis.url").write_text("unix:///run/weir/redis.sock\n")
    assert environment.Environment().redis_url == "unix:///run/weir/redis.sock"


def manage(home: Path, *command: str, **variables: str) -> "subprocess.CompletedProcess[str]":
    found = {
        **os.environ,
        "WEIR_HOME": str(home),
        "DJANGO_SETTINGS_MODULE": "webapp.config.settings",
        **variables,
    }
    words = [sys.executable, "manage.py", *command]
    return subprocess.run(
        words, env=found, capture_output=True, text=True, cwd=environment.PROJECT_DIR, check=False
    )


def test_a_command_says_what_is_wrong_and_shows_no_traceback(tmp_path: Path) -> None:
    done = manage(tmp_path, "check", WEIR_COLLECT_INTERVAL_S="often")
    assert done.returncode == 2
    assert done.stderr == (
        "The environment variable WEIR_COLLECT_INTERVAL_S is 'often', but must be a whole "
        "number from 3 to 3600.\n"
    )


@pytest.mark.long
def test_production_settings_pass_the_deployment_checks(tmp_path: Path) -> None:
    done = manage(tmp_path, "check", "--deploy", "--fail-level", "WARNING", WEIR_HTTPS="true")
    assert done.returncode == 0, done.stderr
