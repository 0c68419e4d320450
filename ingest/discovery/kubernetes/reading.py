import asyncio
from collections.abc import Callable
from typing import Any, NamedTuple

from ingest.discovery.kubernetes import objects
from ingest.discovery.kubernetes.access import ApiServer, in_cluster, read_kubeconfig
from ingest.discovery.kubernetes.api import Api, ApiFault
from ingest.discovery.kubernetes.clusters import ListedObjects, targets
from ingest.discovery.kubernetes.pods import pod
from ingest.discovery.sources import OWN_NAMESPACE, KubernetesSource, RefusedTarget
from ingest.discovery.target_groups import MAX_TARGETS, Target
from ingest.errors import Skipped
from ingest.messages import message

PAGE = 250
MAX_OBJECTS = 20_000
FLINK, CORE = "/apis/flink.apache.org/v1beta1", "/api/v1"


Summary = dict[str, Any]
Reader = Callable[[dict[str, Any]], Summary | None]


class Resource(NamedTuple):
    """``part``: the value of ``read`` in a source, "" for all. ``optional``: the resource may be
    missing or, with a note, forbidden.
    """

    part: str
    group: str
    name: str
    read: Reader
    optional: bool
    parameters: tuple[tuple[str, str], ...] = ()


_LABELS, _FIELDS = "labelSelector", "fieldSelector"
_OF_FLINK = (_LABELS, f"type in ({objects.NATIVE},{objects.STANDALONE})")
RESOURCES = {
    "deployments": Resource("deployments", FLINK, "flinkdeployments", objects.deployment, False),
    "blue_greens": Resource(
        "deployments", FLINK, "flinkbluegreendeployments", objects.blue_green, True
    ),
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
        (_OF_FLINK,),
    ),
    "pods": Resource("", CORE, "pods", pod, True, (_OF_FLINK,)),
    "leaders": Resource(
        "leaders",
        CORE,
        "configmaps",
        objects.leader,
        False,
        ((_LABELS, "configmap-type=high-availability"),),
    ),
}
"""Field of ``ListedObjects`` → resource."""

_listed: set[tuple[str, KubernetesSource, str, str]] = set()
"""Source name, source, field and namespace of objects listed before."""


async def read_kubernetes(
    name: str, source: KubernetesSource
) -> tuple[list[Target], list[RefusedTarget]]:
    if source.kubeconfig:
        server = await asyncio.to_thread(read_kubeconfig, source.kubeconfig, source.context)
    else:
        server = await asyncio.to_thread(in_cluster)
    async with Api(server) as api:
        return await _read(api, name, source, server)


async def _read(
    api: Api, name: str, source: KubernetesSource, server: ApiServer
) -> tuple[list[Target], list[RefusedTarget]]:
    parts = set(source.read or ("deployments", "services")) | (
        {"leaders"} if source.leader else set()
    )
    requests = [
        (field, resource, namespace)
        for field, resource in RESOURCES.items()
        if resource.part in ("", *parts)
        for namespace in _namespaces(source, server)
    ]
    results = await asyncio.gather(
        *(
            _list(api, resource, namespace, source.selector)
            for _field, resource, namespace in requests
        ),
        return_exceptions=True,
    )
    notes: list[RefusedTarget] = []
    listing = ListedObjects()
    unread_fields = set()
    for (field, resource, namespace), result in zip(requests, results, strict=True):
        key = (name, source, field, namespace)
        if isinstance(result, ApiFault):
            unread_fields.add(field)
            notes += _notes_on_fault(
                result, source, field, resource, namespace, had_objects=key in _listed
            )
        elif isinstance(result, BaseException):
            raise result
        else:
            if result:
                _listed.add(key)
            setattr(listing, field, [*(getattr(listing, field) or ()), *result])
    for field in unread_fields & {"events", "pods"}:
        setattr(listing, field, None)
    listing.has_all_owners = not source.selector and "session_jobs" not in unread_fields
    cluster_targets, without_leader = targets(source, listing)
    if len(cluster_targets) > MAX_TARGETS:
        raise Skipped(
            message(
                "it lists more than {max_targets:count} clusters; narrow it by 'namespaces' or "
                "'selector'",
                max_targets=MAX_TARGETS,
            )
        )
    return cluster_targets, [*notes, *without_leader]


def _notes_on_fault(
    fault: ApiFault,
    source: KubernetesSource,
    field: str,
    resource: Resource,
    namespace: str,
    *,
    had_objects: bool,
) -> list[RefusedTarget]:
    """Raises if the source needs the resource. ``had_objects``: objects were listed before."""
    # After earlier objects, a 404 means that the API server is still starting.
    is_not_installed = (
        fault.status == 404 and resource.group == FLINK and not had_objects and not source.read
    )
    is_tolerated = resource.optional and (fault.status in (403, 404) or field == "pods")
    if not is_not_installed and not is_tolerated:
        if fault.status != 403:
            raise fault
        raise Skipped(
            message(
                "{result:name}; or leave {part:name} out of its 'read'",
                result=str(fault),
                part=resource.part,
            )
        )
    if fault.status == 404:
        return []
    return [
        RefusedTarget(
            _path(resource, namespace),
            message(
                "{result:name}; {without:message}", result=str(fault), without=_CONSEQUENCES[field]
            ),
        )
    ]


_CONSEQUENCES = {
    "blue_greens": message("which of a blue/green pair is active is assumed from their jobs"),
    "session_jobs": message("jobs of session clusters are known from REST only"),
    "snapshots": message("savepoints of the operator are known from its other resources only"),
    "events": message("when the operator upgraded a job is known from its status only"),
    "pods": message("why TaskManagers ended, or do not start, is known from logs only"),
    "deployments": message("Weir assumes that there are none"),
}


def _path(resource: Resource, namespace: str) -> str:
    namespace_path = f"/namespaces/{namespace}" if namespace else ""
    return f"{resource.group}{namespace_path}/{resource.name}"


async def _list(api: Api, resource: Resource, namespace: str, selector: str) -> list[Summary]:
    """All pages of one resource version. Lists again if the version was dropped (410). Raises
    ``ApiFault``.
    """
    path, parameters = _path(resource, namespace), dict(resource.parameters)
    if selector and resource.name in ("flinkdeployments", "services", "configmaps"):
        parameters[_LABELS] = ",".join(filter(None, (parameters.get(_LABELS), selector)))
    try:
        return await _pages(api, path, resource.read, parameters)
    except ApiFault as fault:
        if fault.status != 410:
            raise
        return await _pages(api, path, resource.read, parameters)


async def _pages(api: Api, path: str, read: Reader, parameters: dict[str, str]) -> list[Summary]:
    resources: list[Summary] = []
    query, object_count = {**parameters, "limit": str(PAGE)}, 0
    while True:
        page = await api.page(path, query)
        object_count += len(page["items"])
        if object_count > MAX_OBJECTS:
            raise ApiFault(
                message(
                    "{path:name} lists more than {max_objects:count} objects; narrow it by "
                    "'namespaces' or 'selector'",
                    path=path,
                    max_objects=MAX_OBJECTS,
                ),
                200,
            )
        resources += filter(None, (_read_object(read, resource) for resource in page["items"]))
        token = page["metadata"].get("continue") or ""
        if not token:
            return resources
        if not isinstance(token, str) or token == query.get("continue") or not page["items"]:
            raise ApiFault(message("{path:name} returns the same page repeatedly", path=path), 200)
        query["continue"] = token


def _read_object(read: Reader, resource: Any) -> Summary | None:
    try:
        return read(resource) if isinstance(resource, dict) else None
    except (
        Skipped,
        ValueError,
        TypeError,
        KeyError,
        AttributeError,
        RecursionError,
        OverflowError,
    ):
        return None


def _namespaces(source: KubernetesSource, server: ApiServer) -> list[str]:
    names: list[str] = []
    for namespace in source.namespaces:
        if namespace == OWN_NAMESPACE and not server.namespace:
            raise Skipped(
                message(
                    "{own_namespace:name} is given as namespace, and neither the service account "
                    "nor the context has one",
                    own_namespace=OWN_NAMESPACE,
                )
            )
        names.append(server.namespace if namespace == OWN_NAMESPACE else namespace)
    return list(dict.fromkeys(names)) or [""]
