"""One reading of a Kubernetes: every resource that is needed, followed since the last reading of
this process.
"""

import asyncio
from dataclasses import dataclass

from ingest.discovery.kubernetes import objects
from ingest.discovery.kubernetes.access import ApiServer, in_cluster
from ingest.discovery.kubernetes.api import Api, ApiFault
from ingest.discovery.kubernetes.clusters import Found, targets
from ingest.discovery.kubernetes.followed import Followed, Reader
from ingest.discovery.kubernetes.kubeconfig import read_kubeconfig
from ingest.discovery.sources import OWN_NAMESPACE, KubernetesSource, RefusedTarget
from ingest.discovery.target_groups import MAX_TARGETS, Target
from ingest.errors import Skipped
from ingest.messages import message

MAX_HELD = 50
FLINK, CORE = "/apis/flink.apache.org/v1beta1", "/api/v1"


@dataclass(frozen=True, slots=True)
class Resource:
    """``part`` is what ``read`` of a source names.

    An ``optional`` one that may not be read, or is not there, is said and stops nothing.
    """

    part: str
    group: str
    name: str
    read: Reader
    optional: bool
    parameters: tuple[tuple[str, str], ...] = ()


_LABELS, _FIELDS = "labelSelector", "fieldSelector"
RESOURCES = {
    "deployments": Resource("deployments", FLINK, "flinkdeployments", objects.deployment, False),
    "session_jobs": Resource("deployments", FLINK, "flinksessionjobs", objects.session_job, True),
    "snapshots": Resource("deployments", FLINK, "flinkstatesnapshots", objects.snapshot, True),
    "events": Resource(
        "deployments",
        CORE,
        "events",
        objects.event,
        True,
        ((_FIELDS, "involvedObject.apiVersion=flink.apache.org/v1beta1"),),
    ),
    "services": Resource(
        "services",
        CORE,
        "services",
        objects.rest_service,
        False,
        (
            (
                _LABELS,
                message(
                    "type in ({native:name},{standalone:name})",
                    native=objects.NATIVE,
                    standalone=objects.STANDALONE,
                ),
            ),
        ),
    ),
    "leaders": Resource(
        "leaders",
        CORE,
        "configmaps",
        objects.leader,
        False,
        ((_LABELS, "configmap-type=high-availability"),),
    ),
}
"""By the field of :class:`Found` that it fills."""

_held: dict[tuple[str, KubernetesSource, str], dict[tuple[str, str], Followed]] = {}
"""What this process knows of its sources; a reading takes it out, so that two at a time do not
share it.
"""


async def read_kubernetes(
    name: str, source: KubernetesSource
) -> tuple[list[Target], list[RefusedTarget]]:
    """``name``: of the source. Raises ``Skipped``."""
    server = await asyncio.to_thread(_server, source)
    key = (name, source, server.url)
    followed = _held.pop(key, {})
    try:
        async with Api(server) as api:
            return await _read(api, source, server, followed)
    finally:
        while len(_held) >= MAX_HELD:
            _held.pop(next(iter(_held)))
        _held[key] = followed


def forget() -> None:
    _held.clear()


def _server(source: KubernetesSource) -> ApiServer:
    return read_kubeconfig(source.kubeconfig, source.context) if source.kubeconfig else in_cluster()


async def _read(
    api: Api, source: KubernetesSource, server: ApiServer, followed: dict[tuple[str, str], Followed]
) -> tuple[list[Target], list[RefusedTarget]]:
    parts = set(source.read or ("deployments", "services")) | (
        {"leaders"} if source.leader else set()
    )
    wanted = [(into, resource) for into, resource in RESOURCES.items() if resource.part in parts]
    asked = [
        (into, resource, namespace)
        for into, resource in wanted
        for namespace in _in(source, server)
    ]
    for into, resource, namespace in asked:
        if (into, namespace) not in followed:
            followed[into, namespace] = _followed(resource, namespace, source.selector)
    results = await asyncio.gather(
        *(followed[into, namespace].take(api) for into, _resource, namespace in asked),
        return_exceptions=True,
    )
    notes, unread = [], set()
    for (into, resource, namespace), result in zip(asked, results, strict=True):
        if result is None:
            continue
        if not isinstance(result, ApiFault):
            raise result
        watch = followed[into, namespace]
        is_there = bool(watch.objects)
        # A CustomResourceDefinition that is not installed; while an API server starts it may also
        # just not know of it yet.
        is_not_installed = (
            result.status == 404 and resource.group == FLINK and not is_there and not source.read
        )
        if not is_not_installed and not (resource.optional and result.status in (403, 404)):
            raise (
                Skipped(
                    message(
                        "{result:name}; or leave {part:name} out of its 'read'",
                        result=str(result),
                        part=resource.part,
                    )
                )
                if result.status == 403
                else result
            )
        watch.objects.clear()
        watch.version = ""
        unread.add(into)
        if result.status != 404:
            notes.append(
                RefusedTarget(
                    watch.path,
                    message(
                        "{result:name}; {without:message}",
                        result=str(result),
                        without=_WITHOUT[into],
                    ),
                )
            )
    listing = Found()
    for into, _resource, namespace in asked:
        listed = followed[into, namespace].objects.values()
        if into != "events":
            getattr(listing, into).extend(listed)
        elif "events" not in unread:
            listing.events = [*(listing.events or ()), *listed]
    made, unled = targets(source, listing)
    if len(made) > MAX_TARGETS:
        raise Skipped(
            message(
                "it lists more than {max_targets:count} clusters; narrow it by 'namespaces' or "
                "'selector'",
                max_targets=MAX_TARGETS,
            )
        )
    return made, [*notes, *unled]


_WITHOUT = {
    "session_jobs": message("jobs of session clusters are known from REST only"),
    "snapshots": message("savepoints of the operator are known from its other resources only"),
    "events": message("when the operator upgraded a job is known from its status only"),
    "deployments": message("Weir assumes that there are none"),
}


def _followed(resource: Resource, namespace: str, selector: str) -> Followed:
    path = (
        f"{resource.group}/namespaces/{namespace}/{resource.name}"
        if namespace
        else f"{resource.group}/{resource.name}"
    )
    parameters = dict(resource.parameters)
    if selector and resource.name in ("flinkdeployments", "services", "configmaps"):
        parameters[_LABELS] = ",".join(filter(None, (parameters.get(_LABELS), selector)))
    return Followed(path, resource.read, parameters)


def _in(source: KubernetesSource, server: ApiServer) -> list[str]:
    wanted: list[str] = []
    for namespace in source.namespaces:
        if namespace == OWN_NAMESPACE and not server.namespace:
            raise Skipped(
                message(
                    "{own_namespace:name} is given as namespace, and neither the service account "
                    "nor the context has one",
                    own_namespace=OWN_NAMESPACE,
                )
            )
        wanted.append(server.namespace if namespace == OWN_NAMESPACE else namespace)
    return list(dict.fromkeys(wanted)) or [""]
