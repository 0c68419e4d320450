"""The Helm chart: what Helm and the schemas of Kubernetes say of it, and that it runs the same
programs as ``compose.yaml``.
"""

import re
import zipfile
from pathlib import Path
from typing import Any

import kubernetes_validate
import pyspark
import pytest

from tests.deploy.helm_chart import CHART, GIVEN, INSTALLATIONS, PLAIN, objects, plain, refusals
from tests.deploy.test_compose import SERVICES
from tests.kubernetes_api import OF_FLINK
from webapp.config import schedule
from webapp.config.environment import PROJECT_DIR

KUBERNETES = "1.30"
OF_OTHERS = {"ServiceMonitor"}
"""Kinds that an operator brings, whose schemas Kubernetes does not have."""
EVERYTHING = INSTALLATIONS["everything"]


def pods(values: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """Name of what makes them → the Pod's specification."""
    return {
        made["metadata"]["name"]: made["spec"]["template"]["spec"]
        for made in objects(values)
        if made["kind"] in ("Deployment", "StatefulSet", "Job")
    }


def containers(pod: dict[str, Any]) -> list[dict[str, Any]]:
    return [*pod.get("initContainers", ()), *pod["containers"]]


def command(name: str, values: dict[str, Any] = GIVEN) -> list[str]:
    [container] = pods(values)[name]["containers"]
    return container["command"]


def of_kind(values: dict[str, Any], *kinds: str) -> list[dict[str, Any]]:
    return [made for made in objects(values) if made["kind"] in kinds]


@pytest.mark.parametrize("name", INSTALLATIONS)
def test_helm_and_the_schemas_of_kubernetes_find_nothing(name):
    assert refusals(INSTALLATIONS[name]) == []
    for made in objects(INSTALLATIONS[name]):
        if made["kind"] not in OF_OTHERS:
            kubernetes_validate.validate(made, KUBERNETES, strict=True)


@pytest.mark.parametrize(
    "wrong",
    [
        {"existingSecret": ""},
        {"publicUrl": "weir.example.org"},
        {"publicUrl": "https://weir.example.org/weir"},
        {"replicas": 3},
        {"environment": {"WEIR_SECRET_KEY": "x" * 50}},
        {"web": {"replicas": 0}},
        {"storage": {"uri": "s3://bucket/weir/"}},
        {"serviceMonitor": {"enabled": True}},
    ],
)
def test_values_that_make_no_sense_or_hold_a_secret_are_refused(wrong):
    assert refusals({**GIVEN, **wrong})


def test_the_plain_manifests_are_those_of_the_chart():
    assert PLAIN.read_text() == plain(), "python -m tests.deploy.helm_chart writes them"


def test_the_same_programs_run_as_in_compose():
    queues = {f"weir-worker-{queue}": SERVICES[f"worker-{queue}"] for queue in schedule.QUEUES}
    assert {name: command(name) for name in queues} == {
        name: service["command"] for name, service in queues.items()
    }
    assert [name for name in pods(GIVEN) if "worker" in name] == sorted(queues)
    ours, theirs = command("weir-spark"), SERVICES["spark-connect"]["command"]
    assert {*theirs} - {*ours} == {
        "${SPARK_MASTER_URL:-spark://spark-master:7077}",
        "${SPARK_DRIVER_MEMORY:-2g}",
        "spark.executor.extraJavaOptions=-XX:-DontCompileHugeMethods",
    }
    assert command("weir-schema-1") == SERVICES["database-schema"]["command"]
    shell = SERVICES["queue"]["command"][2].replace("$$", "$").replace(' "$@"', "")
    assert command("weir-queue")[2] == shell


def test_beat_never_runs_twice():
    [beat] = [made for made in of_kind(GIVEN, "Deployment") if "beat" in made["metadata"]["name"]]
    assert beat["spec"]["replicas"] == 1
    assert beat["spec"]["strategy"] == {"type": "Recreate"}


@pytest.mark.parametrize("name", INSTALLATIONS)
def test_no_container_runs_as_root_writes_its_image_or_gains_rights(name):
    for pod in pods(INSTALLATIONS[name]).values():
        assert pod["securityContext"]["runAsNonRoot"] is True
        assert pod["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
        for container in containers(pod):
            assert container["securityContext"] == {
                "allowPrivilegeEscalation": False,
                "readOnlyRootFilesystem": True,
                "capabilities": {"drop": ["ALL"]},
            }
            assert container["resources"]["limits"]["memory"]
            assert "/tmp" in {mount["mountPath"] for mount in container["volumeMounts"]}


@pytest.mark.parametrize(
    ("name", "with_token"),
    [
        ("defaults", {"weir-worker-default"}),
        ("everything", {"weir-worker-default", "weir-spark"}),
        ("parts of others", set()),
    ],
)
def test_only_what_asks_kubernetes_has_a_token(name, with_token):
    by_pod = pods(INSTALLATIONS[name])
    assert {name for name, pod in by_pod.items() if pod["automountServiceAccountToken"]} == (
        with_token
    )


def test_discovery_may_list_what_runs_flink_and_nothing_else():
    [role] = of_kind(GIVEN, "ClusterRole", "Role")
    assert [(rule["resources"], rule["verbs"]) for rule in role["rules"]] == [
        (list(OF_FLINK), ["list"]),
        (["services", "pods", "events"], ["list"]),
    ]
    of_namespaces = of_kind(EVERYTHING, "Role")
    assert [role["metadata"].get("namespace") for role in of_namespaces] == ["flink", "prod", None]
    assert not of_kind(EVERYTHING, "ClusterRole", "ClusterRoleBinding")


@pytest.mark.parametrize("name", INSTALLATIONS)
def test_secrets_come_from_the_secret_that_was_made(name):
    for pod in pods(INSTALLATIONS[name]).values():
        for container in containers(pod):
            for variable in container.get("env") or ():
                if "PASSWORD" in variable["name"] and "value" in variable:
                    raise AssertionError(variable)
                if "PASSWORD" in variable.get("value", ""):
                    assert re.search(r"\$\((REDIS|POSTGRES)_PASSWORD\)", variable["value"])
    assert not of_kind(INSTALLATIONS[name], "Secret")


def test_every_variable_is_one_that_weir_reads():
    read = "".join(path.read_text() for path in (PROJECT_DIR / "webapp/config").glob("*.py"))
    read += "".join(path.read_text() for path in (PROJECT_DIR / "spark_jobs").glob("*.py"))
    [settings] = [
        made for made in of_kind(EVERYTHING, "ConfigMap") if made["metadata"]["name"] == "weir"
    ]
    assert [name for name in settings["data"] if name not in read] == []
    assert settings["data"]["WEIR_ALLOWED_HOSTS"] == "weir.example.org,weir-web"


@pytest.mark.parametrize("name", INSTALLATIONS)
def test_services_budgets_and_policies_select_pods_that_exist(name):
    made = objects(INSTALLATIONS[name])
    labels = [
        one["spec"]["template"]["metadata"]["labels"].items()
        for one in made
        if one["kind"] in ("Deployment", "StatefulSet", "Job")
    ]
    for one in made:
        spec = one.get("spec", {})
        wanted = {
            "Service": spec.get("selector"),
            "PodDisruptionBudget": spec.get("selector", {}).get("matchLabels"),
            "NetworkPolicy": spec.get("podSelector", {}).get("matchLabels"),
        }.get(one["kind"])
        if wanted:
            assert any(wanted.items() <= own for own in labels), one["metadata"]["name"]


def test_only_parts_of_weir_reach_spark_queue_and_database():
    inside, web = of_kind(EVERYTHING, "NetworkPolicy")
    own = {"app.kubernetes.io/name": "weir", "app.kubernetes.io/instance": "weir"}
    assert inside["spec"]["podSelector"] == {"matchLabels": own}
    assert inside["spec"]["ingress"] == [{"from": [{"podSelector": {"matchLabels": own}}]}]
    assert web["spec"]["podSelector"]["matchLabels"]["app.kubernetes.io/component"] == "web"


def test_an_executor_runs_a_class_that_the_spark_of_the_image_has():
    [template] = [
        made
        for made in of_kind(EVERYTHING, "ConfigMap")
        if made["metadata"]["name"] == "weir-executor"
    ]
    [started] = re.findall(r"org\.apache\.spark\.\S+", template["data"]["executor.yaml"])
    [jar] = Path(pyspark.__file__).parent.glob("jars/spark-kubernetes_*.jar")
    assert f"{started.replace('.', '/')}.class" in zipfile.ZipFile(jar).namelist()


def test_the_command_of_the_documentation_installs_it_with_the_secret_made_before():
    written = (PROJECT_DIR / "webapp/site/docs/pages/install.md").read_text()
    [secret] = re.findall(r"^kubectl create secret generic (\w+) ", written, re.MULTILINE)
    [chart, options] = re.findall(r"^helm install \w+ (\S+) (.+)$", written, re.MULTILINE)[0]
    given = dict(re.findall(r"--set (\S+)=(\S+)", options))
    assert PROJECT_DIR / chart == CHART and given.pop("existingSecret") == secret
    assert given.pop("ingress.enabled") == "true"
    assert refusals({**given, "existingSecret": secret, "ingress": {"enabled": True}}) == []
