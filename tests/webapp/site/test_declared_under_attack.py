"""Configuration as files, attacked: by pages, commands and Weir's own work beside an apply, by hostile
files, and by secrets that somebody puts in the wrong place.
"""

import os
from contextlib import nullcontext
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
import yaml
from django.core.management import call_command
from django.core.management.base import CommandError
from django.db import transaction
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from tests.webapp.builders import cluster
from tests.webapp.site.test_declared import (
    Apply,
    apply,
    content,
    everything,
    folder,
    secrets,
    text_at,
)
from webapp.alerting.models import Silence
from webapp.delivery import addresses, orders
from webapp.delivery.endpoint_entry import EndpointEntry, enter
from webapp.delivery.models import Endpoint
from webapp.fleet.models import Cluster
from webapp.pipeline import retention
from webapp.site.declared.changes import apply_changes, find_changes
from webapp.site.declared.reading import read_directory
from webapp.site.models import DeclaredRow
from webapp.storage import registration
from webapp.storage.models import StorageRoot

__all__ = ["apply", "folder", "secrets"]
pytestmark = pytest.mark.django_db
PASSWORD = "hunter2"


class Lease:
    def writing(self) -> nullcontext[None]:
        return nullcontext()


def silenced(starts_days: float, ends_days: float) -> dict[str, list[dict[str, Any]]]:
    now = timezone.now()
    return {
        "silences": [
            {
                "matchers": ['cluster="prod-eu"'],
                "starts_at": text_at(now + timedelta(days=starts_days)),
                "ends_at": text_at(now + timedelta(days=ends_days)),
                "reason": "moves",
            }
        ]
    }


# What Weir itself does with stated rows


def test_a_stated_silence_that_is_over_is_deleted_like_any_other(apply: Apply) -> None:
    apply(silenced(-1, 1))
    over = timezone.now() - timedelta(days=4_000)
    Silence.objects.update(ends_at=over)
    retention.purge(timezone.now(), Lease())  # type: ignore[arg-type]
    assert not Silence.objects.exists()


def test_a_silence_that_is_over_is_no_difference(apply: Apply) -> None:
    document = silenced(-3, -1) | {"clusters": []}
    assert apply(document) == apply() == "Nothing changed.\n"
    assert apply(None, "--diff") == "No difference.\n"


def test_secrets_of_stated_rows_are_encrypted_again(apply: Apply) -> None:
    apply(everything())
    before = content()
    call_command("reencrypt_secrets")
    assert content() == before


# What people do meanwhile


def test_an_attestation_that_is_taken_back_while_somebody_saves_the_root_stays_so() -> None:
    StorageRoot.objects.create(uri="s3://bucket/flink")
    registration.attest(StorageRoot.objects.get(), "olga")
    opened = StorageRoot.objects.get()
    registration.withdraw(StorageRoot.objects.get())
    registration.save(opened, [])
    assert not StorageRoot.objects.get().is_attested


def test_an_endpoint_that_is_disabled_and_rotated_while_somebody_saves_it_stays_so(
    apply: Apply,
) -> None:
    apply({"endpoints": everything()["endpoints"]})
    DeclaredRow.objects.all().delete()
    opened = Endpoint.objects.get()
    orders.disable_by_hand(Endpoint.objects.get(), "olga", timezone.now())
    secret = orders.rotate(Endpoint.objects.get(), timezone.now())
    enter(opened, EndpointEntry("on call", owner_email="olga@example.org"), addresses.policy())
    stored = Endpoint.objects.get()
    assert stored.owner_email and not stored.enabled
    assert secret in stored.secrets_at(timezone.now())


def test_what_is_done_between_a_comparison_and_an_apply_stays(apply: Apply, folder: Path) -> None:
    apply(everything())
    registration.attest(StorageRoot.objects.get(), "olga")
    document = everything()
    document["storage_roots"][0]["kind"] = "savepoints"
    document["endpoints"][0]["min_severity"] = "warning"
    (folder / "weir.yaml").write_text(yaml.safe_dump(document))
    declarations = read_directory(folder)
    found = find_changes(declarations)
    registration.withdraw(StorageRoot.objects.get())
    orders.disable_by_hand(Endpoint.objects.get(), "olga", timezone.now())
    apply_changes(found, declarations, dry_run=False)
    assert StorageRoot.objects.get().kind == "savepoints"
    assert not StorageRoot.objects.get().is_attested
    assert Endpoint.objects.get().min_severity == "warning"
    assert not Endpoint.objects.get().enabled


def test_a_row_that_is_changed_between_a_comparison_and_an_apply_is_not_the_files(
    apply: Apply, folder: Path
) -> None:
    """It would be called stated, with another content."""
    by_hand = cluster("by-hand", at=timezone.now(), url="http://127.0.0.1:1")
    entry = {"name": by_hand.name, "url": by_hand.url}
    (folder / "weir.yaml").write_text(yaml.safe_dump({"clusters": [entry]}))
    declarations = read_directory(folder)
    found = find_changes(declarations)
    Cluster.objects.update(url="http://127.0.0.1:2")
    with pytest.raises(ValueError, match="somebody changed it meanwhile"):
        apply_changes(found, declarations, dry_run=False)
    assert not DeclaredRow.objects.exists()


# What people do to stated rows


def test_a_page_does_not_replace_a_stated_signing_secret(apply: Apply, operator: Client) -> None:
    apply(everything())
    before = content()
    page = operator.post(reverse("endpoint-rotate", args=[Endpoint.objects.get().pk]), follow=True)
    assert content() == before and "weir.yaml" in page.content.decode()


def test_a_page_does_not_remove_a_cluster_that_a_stated_root_names(
    apply: Apply, operator: Client
) -> None:
    cluster("by-hand", at=timezone.now())
    document = everything()
    document["storage_roots"][0]["clusters"] = ["by-hand", "prod-eu"]
    apply(document)
    before = content()
    operator.post(reverse("cluster-remove", args=["by-hand"]), {"name": "by-hand"})
    assert content() == before


def test_pruning_a_cluster_that_a_stated_root_names_is_refused(apply: Apply) -> None:
    """The next apply would be, after the root had lost its cluster."""
    apply(everything())
    before = content()
    with pytest.raises(CommandError, match="storage_roots: s3://bucket/flink"):
        apply(everything() | {"clusters": []}, "--prune")
    assert content() == before


def test_commands_refuse_what_a_file_states(apply: Apply) -> None:
    apply(everything())
    before = content()
    for words in (
        ("add_cluster", "prod-eu", "http://127.0.0.1:9", "--replace", "--untested"),
        ("add_storage_root", "s3://bucket/flink", "--replace"),
    ):
        with pytest.raises(CommandError, match=r"weir\.yaml"):
            call_command(*words)
        assert content() == before


# Files


def test_a_mounted_config_map_is_read_once_and_files_of_a_repository_are_not(
    apply: Apply, folder: Path
) -> None:
    (folder / "..2026_11_30").mkdir()
    (folder / "..2026_11_30" / "weir.yaml").write_text(yaml.safe_dump(everything()))
    (folder / "..data").symlink_to("..2026_11_30")
    (folder / "weir.yaml").symlink_to("..data/weir.yaml")
    (folder / ".github").mkdir()
    (folder / ".github" / "ci.yml").write_text("on: push")
    apply()
    assert Cluster.objects.exists()


IN_CLEAR = f"""
clusters: [{{name: a, secret: {PASSWORD}}}]
clusters: [{{name: a, secret: {{value: {PASSWORD}}}}}]
clusters: [{{name: a, secret: [{PASSWORD}]}}]
clusters: [{{name: a, secret: {{env: {PASSWORD}, file: {PASSWORD}}}}}]
clusters: {{name: a, secret: {PASSWORD}}}
clusters: [{{name: a, secret: {PASSWORD}: x}}]
clusters: [{{name: a, secret: '{PASSWORD}}}]
clusters: [{{name: a, secret: !{PASSWORD} x}}]
clusters: [{{name: a, secret: *{PASSWORD}}}]
clusters: [{{name: a, secret: "\\z{PASSWORD}"}}]
clusters: [{{name: a, secret: !!int {PASSWORD}}}]
endpoints: [{{name: a, url: https://chat.example/{PASSWORD}}}]
clusters: {PASSWORD}
clusters: [{PASSWORD}]
{PASSWORD}
""".strip().splitlines()


def test_a_secret_in_clear_text_is_refused_and_not_printed(apply: Apply, folder: Path) -> None:
    for text in IN_CLEAR:
        (folder / "weir.yaml").write_text(text)
        with pytest.raises(CommandError) as refused:
            apply()
        assert PASSWORD not in str(refused.value), text
        assert str(refused.value).startswith("weir.yaml: "), text


def test_a_secret_that_is_no_address_is_not_printed(
    apply: Apply, monkeypatch: pytest.MonkeyPatch
) -> None:
    for secret in (
        *(f"htp://host/{PASSWORD}", f"https://user:{PASSWORD}@host/x", PASSWORD),
        *(f"http://127.0.0.1:99999999/{PASSWORD}", f"http://127.0.0.1:1/{PASSWORD} x"),
        *(f"http://[::1/{PASSWORD}", f"http://127.0.0.1:8999/x#{PASSWORD}"),
        f"https://{'a' * 300}/{PASSWORD}",
    ):
        monkeypatch.setenv("BAD", secret)
        for field in ("url", "signing_secret"):
            document = everything()
            document["endpoints"][0][field] = {"env": "BAD"}
            with pytest.raises(CommandError) as refused:
                apply(document)
            assert PASSWORD not in str(refused.value), secret


def test_secrets_of_weir_itself_are_sent_nowhere(
    apply: Apply, home: Path, weir: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WEIR_HOME", str(home / "own"))
    monkeypatch.setenv("SMTP", "smtp://weir:secret@mail:25")
    weir(smtp_url="smtp://weir:secret@mail:25")
    (home / "own" / "secrets").mkdir(parents=True)
    (home / "own" / "secrets" / "secret_key").write_text("a" * 60)
    (home / "link").symlink_to(home / "own" / "secrets" / "secret_key")
    for place in (
        {"file": str(home / "own" / "secrets" / "secret_key")},
        {"file": str(home / "link")},
        {"file": "/proc/self/environ"},
        {"env": "SMTP"},
    ):
        document = everything()
        document["clusters"][0]["secret"] = place
        with pytest.raises(CommandError):
            apply(document)
    assert not Cluster.objects.exists()


def test_a_secret_or_a_file_that_never_ends_is_refused_at_once(
    apply: Apply, folder: Path, tmp_path: Path
) -> None:
    os.mkfifo(tmp_path / "fifo")
    document = everything()
    document["clusters"][0]["secret"] = {"file": str(tmp_path / "fifo")}
    with pytest.raises(CommandError, match="FIFO"):
        apply(document)
    (folder / "weir.yaml").write_text("a: " + "[" * 40 + "]" * 40)
    with pytest.raises(CommandError, match="deeper"):
        apply()


HOSTILE = [
    'clusters: [{name: "a\\0b", url: "http://127.0.0.1:1"}]',
    'clusters: [{name: a, url: "http://127.0.0.1:1", labels: {"a\\0": b}}]',
    'clusters: [{name: a, url: "http://127.0.0.1:1", labels: {1: b}}]',
    'clusters: [{name: a, url: "http://127.0.0.1:1", labels: {"\\ud800": b}}]',
    'clusters: [{name: a, url: "http://127.0.0.1:1", labels: {team: "\\ud800"}}]',
    'clusters: [{name: a, url: "http://127.0.0.1:1", auth_user: "\\0"}]',
    'clusters: [{name: a, url: "http://127.0.0.1:1", auth_user: "\\ud800"}]',
    'clusters: [{name: a, url: "http://127.0.0.1:1", metrics_interval_s: 30.0}]',
    'clusters: [{name: a, url: "http://127.0.0.1:1", metrics_interval_s: 99999999999999999999}]',
    'clusters: [{name: a, url: "http://127.0.0.1:1", metrics_interval_s: -1}]',
    'clusters: [{name: a, url: "http://127.0.0.1:1", log_globs: [""]}]',
    'clusters: [{name: a, url: "http://127.0.0.1:1", log_globs: ["\\0"]}]',
    'clusters: [{name: a, url: "http://169.254.169.254/x"}]',
    "clusters: [{name: a, log_globs: [/proc/self/environ]}]",
    'clusters: [{name: a, url: "http://127.0.0.1:1", ca_file: "\\0"}]',
    'clusters: [{name: a, url: "http://127.0.0.1:1", labels: {cluster: b}}]',
    'storage_roots: [{uri: "s3://b/\\0"}]',
    'storage_roots: [{uri: "s3://b/\\ud800"}]',
    'storage_roots: [{uri: "/proc/self"}]',
    'storage_roots: [{uri: "s3://b/x", quarantine_uri: "s3://b/x/y"}]',
    'storage_roots: [{uri: "s3://b/x", quarantine_uri: "\\0"}]',
    'objectives: [{name: "\\0", kind: freshness, target: 99, limit_s: 60}]',
    'objectives: [{name: "\\ud800", kind: freshness, target: 99, limit_s: 60}]',
    'objectives: [{name: " a ", kind: freshness, target: 99, limit_s: 60}]',
    "objectives: [{name: a, kind: freshness, target: .nan, limit_s: 60}]",
    "objectives: [{name: a, kind: freshness, target: 99, limit_s: 60.0}]",
    "objectives: [{name: a, kind: freshness, target: 99.1234567, limit_s: 60}]",
    "objectives: [{name: a, kind: freshness, target: 1" + "0" * 400 + ", limit_s: 60}]",
    "thresholds: [{key: pressure.root.backpressured_ratio, value: .nan}]",
    "thresholds: [{key: pressure.root.backpressured_ratio, value: .inf}]",
    "thresholds: [{key: pressure.root.backpressured_ratio, value: 1" + "0" * 400 + "}]",
    'thresholds: [{key: pressure.root.backpressured_ratio, value: 0.5, cluster: "\\0"}]',
    'thresholds: [{key: pressure.root.backpressured_ratio, value: 0.5, cluster: "\\ud800"}]',
    'rules: [{rule: checkpoint.expired, alerts: false, cluster: "a b"}, {rule: checkpoint.expired, alerts: true, cluster: a, job_id: b}]',
    "rules: [{rule: checkpoint.expired, hold_before_s: 1.0}]",
    "rules: [{rule: checkpoint.expired, alerts: false, cluster: nowhere}]",
    'endpoints: [{name: "\\0", url: {env: HOOK}}]',
    'endpoints: [{name: " a ", url: {env: HOOK}}]',
    'endpoints: [{name: a, url: {env: "\\0"}}]',
    'endpoints: [{name: a, url: {env: "A=B"}}]',
    'endpoints: [{name: a, url: {env: "\\ud800"}}]',
    'endpoints: [{name: a, url: {file: "\\0"}}]',
    'endpoints: [{name: a, url: {file: "\\ud800"}}]',
    'endpoints: [{name: a, url: {file: "."}}]',
    'endpoints: [{name: a, url: {file: "/dev/zero"}}]',
    'endpoints: [{name: a, format: email, emails: ["\\0"]}]',
    'endpoints: [{name: a, url: {env: HOOK}, emails: ["a@b.example"]}]',
    "endpoints: [{name: a, url: {env: HOOK}, credential: {env: HOOK}}]",
    'endpoints: [{name: a, format: email, emails: ["a@b.example"], signing_secret: {env: SIGNS}}]',
    'silences: [{matchers: ["a=b"], starts_at: "0001-01-01T00:00:00+23:00", ends_at: "9999-12-31T23:59:59-23:00", reason: x}]',
    'silences: [{matchers: ["a=b"], starts_at: "2026-11-01T00:00:00Z", ends_at: "9999-12-31T23:59:59Z", reason: x}]',
    'silences: [{matchers: ["a=b"], starts_at: "2026-11-01T00:00:00Z", ends_at: "2027-01-01T00:00:00Z", reason: " "}]',
    'silences: [{matchers: ["a=b"], starts_at: "2026-11-01T00:00:00Z", ends_at: "2027-01-01T00:00:00Z", reason: "a\\0b"}]',
    'silences: [{matchers: ["a=b\\nc=d"], starts_at: "2026-11-01T00:00:00Z", ends_at: "2027-01-01T00:00:00Z", reason: "ab"}]',
    'silences: [{matchers: [""], starts_at: "2026-11-01T00:00:00Z", ends_at: "2027-01-01T00:00:00Z", reason: "ab"}]',
    'silences: [{matchers: ["cluster=~.*"], starts_at: "2026-11-01T00:00:00Z", ends_at: "2027-01-01T00:00:00Z", reason: "ab"}]',
    'silences: [{matchers: ["a=\\ud800"], starts_at: "2026-11-01T00:00:00Z", ends_at: "2027-01-01T00:00:00Z", reason: "ab"}]',
    "? [1]\n: x",
    "? {a: b}\n: x",
    "<<: {clusters: []}",
    "clusters: !!set {a}",
    "clusters: !!binary aGk=",
    "1: []",
    "clusters: ~",
    "--- \n--- \n",
    "!!int hunter2",
    'clusters: [{name: a, url: "http://127.0.0.1:1", labels: {? [1] : b}}]',
    "clusters: 2" + "0" * 5000,
    'clusters: [{name: 2026-01-01, url: "http://127.0.0.1:1"}]',
    'clusters: [{name: !!timestamp 2026-01-01, url: "http://127.0.0.1:1"}]',
]


def test_a_hostile_file_is_refused_or_holds_when_it_is_applied_again(
    apply: Apply, folder: Path
) -> None:
    for text in HOSTILE:
        (folder / "weir.yaml").write_text(text)
        with transaction.atomic():
            try:
                apply()
            except CommandError as error:
                assert error.returncode == 2, text
            else:
                assert apply() == "Nothing changed.\n", text
            transaction.set_rollback(True)


def test_a_file_of_many_keys_is_read_at_once(apply: Apply, folder: Path) -> None:
    keys = ",".join(f"k{number}: " for number in range(20_000))
    (folder / "weir.yaml").write_text(f"clusters: {{{keys}}}")
    began = timezone.now()
    with pytest.raises(CommandError):
        apply()
    assert timezone.now() - began < timedelta(seconds=8)
