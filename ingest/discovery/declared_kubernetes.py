"""``kubernetes:`` of a source."""

import re
from pathlib import Path
from typing import Any

from ingest.discovery.declared_fields import mapping, text, texts
from ingest.discovery.sources import ADDRESS, OWN_NAMESPACE, KubernetesSource

KEYS = ("kubeconfig", "context", "namespaces", "selector", "read", "address", "leader")
READ = ("deployments", "services", "leaders")
MAX_NAMESPACES = 20
"""Each is asked for by itself; more of them are better asked for as all."""

_NAMESPACE = re.compile(r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?")
_PLACES = re.compile(r"\{(service|namespace|name|port)\}")


def kubernetes_source(given: Any, where: str) -> KubernetesSource:
    """Raises ``ValueError``."""
    own = mapping(given or {}, where, KEYS)
    kubeconfig, context = text(own, "kubeconfig", where), text(own, "context", where)
    if kubeconfig and not Path(kubeconfig).is_absolute():
        raise ValueError(
            f"{where}: 'kubeconfig' must be an absolute path; without it the service account of "
            "the pod is used"
        )
    if context and not kubeconfig:
        raise ValueError(f"{where}: 'context' is one of a 'kubeconfig'")
    namespaces = texts(own, "namespaces", where)
    if len(namespaces) > MAX_NAMESPACES or not all(
        namespace == OWN_NAMESPACE or _NAMESPACE.fullmatch(namespace) for namespace in namespaces
    ):
        most = f"at most {MAX_NAMESPACES} names"
        raise ValueError(
            f"{where}: 'namespaces' must be {most} of namespaces, or \"{OWN_NAMESPACE}\"; none "
            "means all"
        )
    read = texts(own, "read", where)
    if not set(read) <= set(READ):
        raise ValueError(f"{where}: 'read' must be of {', '.join(READ)}")
    leader = own.get("leader", False)
    if not isinstance(leader, bool):
        raise ValueError(f"{where}: 'leader' must be true or false")
    if "leaders" in read:
        leader = True
    address = text(own, "address", where) or ADDRESS
    if "{" in _PLACES.sub("", address) or "}" in _PLACES.sub("", address):
        raise ValueError(
            f"{where}: 'address' may hold {{service}}, {{namespace}}, {{name}} and {{port}}"
        )
    return KubernetesSource(
        kubeconfig, context, namespaces, text(own, "selector", where), read, address, leader
    )
