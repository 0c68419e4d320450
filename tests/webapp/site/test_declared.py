"""Configuration as files: applied, exported, applied again, and not changed by anybody else."""

import json
from collections.abc import Callable
from datetime import datetime, timedelta
from pathlib import Path

import jsonschema
import pytest
import yaml
from django.apps import apps
from django.core.management import call_command
from django.core.management.base import CommandError
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from tests.webapp.builders import cluster
from webapp.alerting.models import RuleSetting, Silence
from webapp.delivery.formats.registry import FORMATS
from webapp.delivery.models import Endpoint
from webapp.findings.models import ThresholdOverride
from webapp.fleet.models import Cluster
from webapp.growth.models import Objective
from webapp.site.declared.guard import applying
from webapp.site.declared.names import MODEL_OF
from webapp.site.declared.registry import KINDS
from webapp.site.models import DeclaredRow
from webapp.storage.models import StorageRoot

pytestmark = pytest.mark.django_db
SECRET = "whsec_" + "A" * 43 + "="
Apply = Callable[..., str]


def text_at(at: datetime) -> str:
    return at.strftime("%Y-%m-%dT%H:%M:%SZ")


def everything() -> dict[str, list[dict[str, object]]]:
    """An entry of each kind, with more than the required fields."""
    now = timezone.now().replace(microsecond=0)
    return {
        "clusters": [
            {
                "name": "prod-eu",
                "url": "http://127.0.0.1:8081",
                "auth_scheme": "bearer",
                "secret": {"env": "EU_TOKEN"},
                "metrics_interval_s": 60,
                "labels": {"team": "payments"},
            }
        ],
        "storage_roots": [
            {"uri": "s3://bucket/flink", "clusters": ["prod-eu"], "kind": "checkpoints"}
        ],
        "objectives": [
            {
                "name": "fresh",
                "kind": "freshness",
                "target": 99.9,
                "limit_s": 600,
                "matchers": ['team="payments"'],
            }
        ],
        "rules": [
            {"rule": "checkpoint.expired", "severity": "critical"},
            {
                "rule": "checkpoint.expired",
                "cluster": "prod-eu",
                "job_id": "a" * 32,
                "job_name": "orders",
                "alerts": False,
            },
        ],
        "thresholds": [{"key": "pressure.root.backpressured_ratio", "value": 0.4}],
        "endpoints": [
            {
                "name": "on call",
                "url": {"env": "HOOK"},
                "signing_secret": {"env": "SIGNS"},
                "matchers": ['cluster="prod-eu"'],
                "min_severity": "critical",
            }
        ],
        "silences": [
            {
                "matchers": ['cluster="prod-eu"'],
                "starts_at": text_at(now),
                "ends_at": text_at(now + timedelta(days=2)),
                "reason": "moves to another hall",
            }
        ],
    }


@pytest.fixture(autouse=True)
def secrets(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EU_TOKEN", "let me in")
    monkeypatch.setenv("HOOK", "http://127.0.0.1:8999/hook")
    monkeypatch.setenv("SIGNS", SECRET)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "files").mkdir()
    return tmp_path / "files"


@pytest.fixture
def apply(folder: Path, capsys: pytest.CaptureFixture[str], weir: Callable[..., None]) -> Apply:
    weir(webhook_allowed_networks=("127.0.0.0/8",), webhook_allow_http=True)

    def applied(document: object = None, *options: str) -> str:
        if document is not None:
            (folder / "weir.yaml").write_text(yaml.safe_dump(document))
        call_command("apply", str(folder), *options)
        return capsys.readouterr().out

    return applied


def content() -> dict[str, list[object]]:
    return {
        name: [(kind.entry(row), kind.secrets(row)) for row in kind.rows()]
        for name, kind in KINDS.items()
    }


def test_files_make_a_row_of_each_entry(apply: Apply) -> None:
    apply(everything())
    eu = Cluster.objects.get()
    assert eu.labels == {"team": "payments"} and eu.metrics_interval_s == 60
    assert KINDS["clusters"].secrets(eu) == {"secret": "let me in"}
    assert Objective.objects.get().target == 0.999
    assert RuleSetting.objects.count() == 2
    assert ThresholdOverride.objects.get().value == 0.4
    assert Endpoint.objects.get().url == "http://127.0.0.1:8999/hook"
    assert Silence.objects.get().reason == "moves to another hall"
    assert [name.name for name in StorageRoot.objects.get().clusters.all()] == ["prod-eu"]


def test_the_same_files_again_change_nothing(apply: Apply) -> None:
    apply(everything())
    before = content()
    assert apply() == "Nothing changed.\n"
    assert content() == before


def test_an_export_applied_to_an_empty_database_equals_what_was_exported(
    apply: Apply, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    apply(everything())
    before = content()
    call_command("export", str(tmp_path / "exported"))
    with applying():
        for label in MODEL_OF.values():
            apps.get_model(label)._base_manager.all().delete()
    DeclaredRow.objects.all().delete()
    monkeypatch.setenv("WEIR_CLUSTERS_PROD_EU_SECRET", "let me in")
    monkeypatch.setenv("WEIR_ENDPOINTS_ON_CALL_URL", "http://127.0.0.1:8999/hook")
    monkeypatch.setenv("WEIR_ENDPOINTS_ON_CALL_SIGNING_SECRET", SECRET)
    for _twice in range(2):
        call_command("apply", str(tmp_path / "exported"))
        assert content() == before


def test_no_secret_is_in_an_export_or_in_what_apply_prints(
    apply: Apply, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    printed = apply(everything())
    call_command("export", str(tmp_path / "exported"))
    written = "".join(path.read_text() for path in (tmp_path / "exported").iterdir())
    for text in ("let me in", "8999/hook", SECRET):
        assert text not in printed + written + capsys.readouterr().out


def test_a_difference_is_shown_and_nothing_is_changed(
    apply: Apply, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    apply(everything())
    changed = everything()
    changed["objectives"][0]["target"] = 99
    monkeypatch.setenv("EU_TOKEN", "another")
    with pytest.raises(SystemExit) as ended:
        apply(changed, "--diff")
    printed = capsys.readouterr().out
    assert ended.value.code == 1
    assert "target: 99.9 → 99.0" in printed and "secret: changed" in printed
    assert Objective.objects.get().target == 0.999


def test_a_secret_that_changed_is_stored(apply: Apply, monkeypatch: pytest.MonkeyPatch) -> None:
    apply(everything())
    monkeypatch.setenv("EU_TOKEN", "another")
    apply()
    assert KINDS["clusters"].secrets(Cluster.objects.get()) == {"secret": "another"}


def test_what_no_file_states_any_more_stays_until_it_is_pruned(apply: Apply) -> None:
    apply(everything())
    less = everything() | {"objectives": []}
    assert "--prune" in apply(less)
    assert Objective.objects.exists()
    apply(less, "--prune")
    assert not Objective.objects.exists() and Cluster.objects.exists()


def test_rows_that_people_entered_are_not_pruned(apply: Apply) -> None:
    cluster("by-hand", at=timezone.now())
    apply(everything(), "--prune")
    assert {row.name for row in Cluster.objects.all()} == {"by-hand", "prod-eu"}


def test_a_row_that_is_as_a_file_says_is_the_files_from_then_on(apply: Apply) -> None:
    Cluster.objects.create(name="by-hand", url="http://127.0.0.1:8082")
    document = {"clusters": [{"name": "by-hand", "url": "http://127.0.0.1:8082"}]}
    assert apply(document).startswith("= clusters by-hand")
    assert DeclaredRow.objects.get().file == "weir.yaml"


WRONG = {
    "an unknown kind": ({"clutsers": []}, "clutsers"),
    "an unknown field": ({"clusters": [{"name": "a", "urk": "http://x"}]}, "urk"),
    "no list": ({"clusters": {"name": "a"}}, "clusters"),
    "a value for a secret": ({"clusters": [{"name": "a", "secret": "let me in"}]}, "secret"),
    "the same twice": (
        {"rules": [{"rule": "checkpoint.expired", "alerts": on} for on in (True, False)]},
        "twice",
    ),
    "no such rule": ({"rules": [{"rule": "checkpoint.expird", "alerts": True}]}, "rules[0]"),
    "a bad matcher": (
        {
            "objectives": [
                {"name": "a", "kind": "freshness", "target": 99, "matchers": ["nonsense"]}
            ]
        },
        "nonsense",
    ),
    "an instant without offset": (
        {
            "silences": [
                {
                    "matchers": ["a=b"],
                    "starts_at": "2026-11-21T18:00:00",
                    "ends_at": "2026-11-22T18:00:00Z",
                    "reason": "r",
                }
            ]
        },
        "2026-11-21T18:00:00",
    ),
}


@pytest.mark.parametrize("case", WRONG)
def test_a_wrong_file_is_refused_with_its_place(apply: Apply, case: str) -> None:
    document, named = WRONG[case]
    with pytest.raises(CommandError) as refused:
        apply(document)
    assert refused.value.returncode == 2
    assert str(refused.value).startswith("weir.yaml: ") and named in str(refused.value)
    assert not DeclaredRow.objects.exists()


@pytest.mark.parametrize(
    "text",
    [
        "clusters: [",
        "a: &x [1]\nclusters: *x",
        "clusters: []\nclusters: []",
        "- 1",
        "clusters: " + "[" * 5_000,
        "\x00",
        "clusters: !!python/object/apply:os.system ['true']",
    ],
)
def test_text_that_is_no_configuration_is_refused(apply: Apply, folder: Path, text: str) -> None:
    (folder / "other.yml").write_text(text)
    with pytest.raises(CommandError) as refused:
        apply(everything())
    assert str(refused.value).startswith("other.yml: ") and refused.value.returncode == 2
    assert not Cluster.objects.exists()


def test_an_empty_directory_removes_nothing(apply: Apply, folder: Path) -> None:
    apply(everything())
    (folder / "weir.yaml").unlink()
    with pytest.raises(CommandError, match="has no file"):
        apply(None, "--prune")
    assert Cluster.objects.exists()


def test_nothing_is_applied_if_one_entry_is_refused(apply: Apply) -> None:
    document = everything()
    document["thresholds"][0]["value"] = 7
    with pytest.raises(CommandError, match=r"pressure\.root"):
        apply(document)
    assert not Cluster.objects.exists()


def test_a_secret_that_cannot_be_read_is_named_by_its_place(
    apply: Apply, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("EU_TOKEN")
    with pytest.raises(CommandError, match="EU_TOKEN is not set"):
        apply(everything())


def test_a_file_can_hold_a_secret(apply: Apply, tmp_path: Path) -> None:
    (tmp_path / "token").write_text("from a file\n")
    document = everything()
    document["clusters"][0]["secret"] = {"file": str(tmp_path / "token")}
    apply(document)
    assert KINDS["clusters"].secrets(Cluster.objects.get()) == {"secret": "from a file"}


def test_the_schema_accepts_what_apply_accepts(capsys: pytest.CaptureFixture[str]) -> None:
    call_command("apply", "--schema")
    schema = json.loads(capsys.readouterr().out)
    jsonschema.Draft202012Validator.check_schema(schema)
    jsonschema.validate(everything(), schema)


WRITES = {
    "cluster": lambda: (
        reverse("cluster-edit", args=["prod-eu"]),
        {"url": "http://127.0.0.1:9999", "metrics_interval_s": 30},
    ),
    "cluster removed": lambda: (
        reverse("cluster-remove", args=["prod-eu"]),
        {"name": "prod-eu"},
    ),
    "objective": lambda: (
        reverse("objective-set"),
        {"name": "fresh", "kind": "freshness", "target": "90", "limit_s": "60", "matchers": ""},
    ),
    "objective removed": lambda: (
        reverse("objective-remove", args=[Objective.objects.get().pk]),
        {},
    ),
    "rule": lambda: (
        reverse("alert-setting"),
        {"rule": "checkpoint.expired", "severity": "info"},
    ),
    "threshold": lambda: (
        reverse("threshold-save"),
        {"rule": "pressure.root", "pressure.root.backpressured_ratio": "0.9"},
    ),
    "endpoint removed": lambda: (
        reverse("endpoint-remove", args=[Endpoint.objects.get().pk]),
        {"name": "on call"},
    ),
    "root": lambda: (
        reverse("storage-root-edit", args=[StorageRoot.objects.get().pk]),
        {"kind": "checkpoints", "enabled": "on"},
    ),
}


# A refused removal ends the transaction that it is in.
@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("write", WRITES)
def test_a_page_cannot_change_what_a_file_states(
    apply: Apply, operator: Client, write: str
) -> None:
    apply(everything())
    before = content()
    address, fields = WRITES[write]()
    answer = operator.post(address, fields, follow=True)
    assert answer.status_code in (200, 403)
    assert "weir.yaml" in answer.content.decode()
    assert content() == before


def test_a_page_changes_what_no_file_states(apply: Apply, operator: Client) -> None:
    apply(everything())
    by_hand = cluster("by-hand", at=timezone.now())
    address = reverse("cluster-edit", args=[by_hand.name])
    operator.post(address, {"url": "http://127.0.0.1:9999", "metrics_interval_s": 30})
    by_hand.refresh_from_db()
    assert by_hand.url == "http://127.0.0.1:9999"


def test_what_weir_itself_notes_of_a_stated_cluster_is_stored(apply: Apply) -> None:
    apply(everything())
    eu = Cluster.objects.get()
    eu.last_success_at, eu.jobs_seen = timezone.now(), 7
    eu.save()
    assert Cluster.objects.get().jobs_seen == 7


def test_a_person_may_end_a_stated_silence_early_and_the_difference_shows(
    apply: Apply, operator: Client, capsys: pytest.CaptureFixture[str]
) -> None:
    apply(everything())
    operator.post(reverse("silence-end", args=[Silence.objects.get().pk]))
    assert not KINDS["silences"].rows()
    with pytest.raises(SystemExit):
        apply(None, "--diff")
    assert "+ silences" in capsys.readouterr().out


def test_pages_say_which_file_states_a_row(apply: Apply, operator: Client) -> None:
    apply(everything())
    for page in (
        reverse("cluster-edit", args=["prod-eu"]),
        reverse("storage-root-edit", args=[StorageRoot.objects.get().pk]),
        reverse("objectives"),
        reverse("alert-settings"),
        reverse("endpoint", args=[Endpoint.objects.get().pk]),
        reverse("silences"),
    ):
        assert "weir.yaml" in operator.get(page).content.decode(), page


def test_an_address_that_the_page_refuses_is_refused(
    apply: Apply, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOOK", "http://10.0.0.1:8999/hook")
    with pytest.raises(CommandError, match="WEIR_WEBHOOK_ALLOWED_NETWORKS") as refused:
        apply(everything())
    assert refused.value.returncode == 2 and not Endpoint.objects.exists()


def test_each_kind_of_receiver_is_declared_with_references_to_its_secrets(
    apply: Apply, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOOK", "http://127.0.0.1:8999/bot1:canary/sendMessage?chat_id=-1001")
    monkeypatch.setenv("KEY", "canary-key")
    endpoints = [
        {"name": name, "format": name, "url": {"env": "HOOK"}}
        | ({"credential": {"env": "KEY"}} if form.credential_required else {})
        for name, form in FORMATS.items()
        if name not in ("weir", "email")
    ]
    apply({"endpoints": endpoints})
    assert apply() == "Nothing changed.\n"
    assert {row.credential for row in Endpoint.objects.all()} == {"", "canary-key"}
    call_command("export", str(tmp_path / "exported"))
    assert "canary" not in (tmp_path / "exported" / "endpoints.yaml").read_text()


def test_two_exported_secrets_never_share_a_variable(
    apply: Apply, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OTHER", "http://127.0.0.1:8998/hook")
    names = ("on-call", "on_call", "值班", "运维")
    urls = dict(zip(names, ("HOOK", "OTHER", "HOOK", "OTHER"), strict=True))
    apply({"endpoints": [{"name": name, "url": {"env": urls[name]}} for name in names]})
    call_command("export", str(tmp_path / "exported"))
    entries = yaml.safe_load((tmp_path / "exported" / "endpoints.yaml").read_text())["endpoints"]
    variables = [entry["url"]["env"] for entry in entries]
    assert len({*variables}) == len(names)


def test_a_difference_that_apply_would_refuse_is_refused(apply: Apply) -> None:
    document = everything()
    document["storage_roots"][0]["clusters"] = ["stagin"]
    with pytest.raises(CommandError, match="stagin") as refused:
        apply(document, "--diff")
    assert refused.value.returncode == 2 and not Cluster.objects.exists()


def test_rows_in_no_file_alone_are_no_difference(apply: Apply) -> None:
    document = everything()
    apply(document)
    assert "--prune" in apply(document | {"objectives": []}, "--diff")
    assert Objective.objects.exists()


def test_every_secret_that_is_missing_is_named_at_once(
    apply: Apply, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("EU_TOKEN")
    monkeypatch.delenv("HOOK")
    with pytest.raises(CommandError) as refused:
        apply(everything())
    assert "EU_TOKEN" in str(refused.value) and "HOOK" in str(refused.value)
