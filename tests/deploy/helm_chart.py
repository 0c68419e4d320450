"""The Helm chart, rendered by Helm's own code; ``python -m tests.deploy.helm_chart`` writes the
plain manifests anew.
"""

from pathlib import Path
from typing import Any

import yaml
from helm_python import Chart, lint

from webapp.config.environment import PROJECT_DIR

CHART = PROJECT_DIR / "deploy" / "helm" / "weir"
PLAIN = PROJECT_DIR / "deploy" / "kubernetes" / "weir.yaml"
HEADER = (
    "# What the Helm chart beside it makes of its defaults: edit the address in the ConfigMap, make\n"
    "# the Secret `weir`, then `kubectl apply --namespace weir -f weir.yaml`.\n"
)
GIVEN: dict[str, Any] = {"existingSecret": "weir", "publicUrl": "http://weir.example.org"}
INSTALLATIONS: dict[str, dict[str, Any]] = {
    "defaults": GIVEN,
    "everything": {
        **GIVEN,
        "publicUrl": "https://weir.example.org:8443",
        "images": {"pullSecrets": ["registry"]},
        "sources": "sources: []\n",
        "discovery": {"namespaces": ["flink", "prod"], "leader": True},
        "storage": {"uri": "s3://bucket/weir"},
        "spark": {"executors": 3},
        "database": {"enabled": True, "storageClass": "fast"},
        "ingress": {"enabled": True, "className": "nginx", "tlsSecret": "tls"},
        "serviceMonitor": {"enabled": True, "tokenSecret": "weir-token"},
        "networkPolicy": {"ingressFrom": [{"namespaceSelector": {}}]},
        "nodeSelector": {"pool": "tools"},
        "tolerations": [{"operator": "Exists"}],
    },
    "parts of others": {
        **GIVEN,
        "queue": {"enabled": False},
        "spark": {"remote": "sc://spark:15002"},
        "storage": {"existingClaim": "shared"},
        "web": {"replicas": 1},
        "discovery": {"enabled": False},
        "networkPolicy": {"enabled": False},
    },
}


def refusals(values: dict[str, Any]) -> list[str]:
    """What Helm has against the chart with these values."""
    return [str(error) for error in lint(CHART, values)["errors"]]


def objects(values: dict[str, Any]) -> list[dict[str, Any]]:
    files = Chart.load(CHART).render(values, name="weir", namespace="weir")
    return [
        made
        for name, text in sorted(files.items())
        if name.endswith(".yaml")
        for made in yaml.safe_load_all(text)
        if made
    ]


def plain() -> str:
    made = yaml.safe_dump_all(objects(GIVEN), sort_keys=False, width=1_000)
    return HEADER + made


if __name__ == "__main__":
    PLAIN.parent.mkdir(exist_ok=True)
    Path(PLAIN).write_text(plain())
