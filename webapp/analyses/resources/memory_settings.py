"""Which settings of memory to change for a job, so that Flink derives what its TaskManagers need:
pure.
"""

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

from ingest.messages import Message, bytes_text, message
from webapp.analyses.resources.job_resources import JobResources
from webapp.hosts.memory_budget import BUSY_GC_RATIO, HEAP, MANAGED, NETWORK, OVERHEAD, MemoryPart
from webapp.hosts.process_memory import (
    Refused,
    Sizes,
    derived_sizes,
    least_network,
    setting_text,
    settings_for,
)

_COMPARED_ROOM = 0.12
"""A JVM reports less heap than it was given: some collectors leave one survivor space out."""


def memory_advice(
    resources: JobResources, configuration: Mapping[str, Any] | None, version: str | None
) -> Iterator[str]:
    """Why, part by part, and what to set; nothing where nothing is to be changed."""
    settings = configuration or {}
    now = _derived_now(resources, settings, version)
    if now is None:
        yield from (
            message(
                "{reason:message} How Flink derives its size is not known: the sizes of its "
                "TaskManagers do not follow from the recorded configuration. The option is "
                "{option:name}; what is added to it is taken from other parts unless the total is "
                "raised too.",
                reason=_reason(part, resources),
                option=part.option,
            )
            for part in resources.tight
        )
        return
    changed, wanted = _wanted(resources, now, least_network(settings, version))
    if not changed:
        return
    then, before = sum(wanted.values()), sum(now.values())
    if then > before and (room := _lacking_room(resources, then)):
        yield from (_reason(part, resources) for part in changed if part.state == "tight")
        yield room
        return
    to_set = settings_for(wanted, settings, version)
    if to_set is None:
        yield from (_reason(part, resources) for part in changed if part.state == "tight")
        return
    yield from (_reason(part, resources) for part in changed)
    for option, size in to_set.items():
        yield message(
            "Set {option:name} to {size:name} (now {now:name}).",
            option=option,
            size=setting_text(size),
            now=str(settings[option]) if option in settings else message("not set"),
        )
    yield message(
        "Set together: Flink then derives {then:bytes} for a TaskManager, {heap:bytes} of it heap; "
        "now it has {now:bytes}.",
        then=sum(derived_sizes({**settings, **to_set}, version).values()),
        heap=wanted[HEAP],
        now=before,
    )


def _derived_now(
    resources: JobResources, configuration: Mapping[str, Any], version: str | None
) -> Sizes | None:
    """None where TaskManagers have other sizes: their configuration is not the recorded one."""
    try:
        sizes = derived_sizes(configuration, version)
    except Refused:
        return None
    for part in resources.parts:
        least = (1 - _COMPARED_ROOM if part.name == HEAP else 1) * sizes[part.name]
        if part.configured_bytes is None or not least <= part.configured_bytes <= sizes[part.name]:
            return None
    return sizes


def _wanted(
    resources: JobResources, now: Sizes, network_bytes: int
) -> tuple[list[MemoryPart], dict[str, int]]:
    changed, wanted = [], dict(now)
    for part in resources.parts:
        enough = part.suggested_bytes
        if enough is None or part.name == OVERHEAD:
            continue
        if part.name == NETWORK:
            enough = max(enough, network_bytes)
        is_lowered = part.state == "spare" and resources.can_be_lowered and enough < now[part.name]
        if is_lowered or (part.state == "tight" and enough > now[part.name]):
            wanted[part.name] = enough
            changed.append(part)
    return changed, wanted


def _lacking_room(resources: JobResources, process_bytes: int) -> Message | None:
    on_host = Counter(taskmanager.host for taskmanager in resources.taskmanagers)
    for taskmanager in resources.taskmanagers:
        count, physical = on_host[taskmanager.host], taskmanager.physical_bytes
        if taskmanager.host and physical and count * process_bytes > physical:
            return message(
                "More does not fit: {host:name} has {physical:bytes}, and each of its "
                "TaskManagers ({count:count}) would take {process:bytes}. Give each fewer slots, "
                "or the job more hosts.",
                host=taskmanager.host,
                physical=physical,
                count=count,
                process=process_bytes,
            )
    return None


def _reason(part: MemoryPart, resources: JobResources) -> Message:
    gc_ratio = max(
        (taskmanager.gc_ratio or 0.0 for taskmanager in resources.taskmanagers), default=0.0
    )
    sizes = {
        "part": part.name,
        "used": message("unknown") if part.used_bytes is None else bytes_text(part.used_bytes),
        "now": message("unknown")
        if part.configured_bytes is None
        else bytes_text(part.configured_bytes),
    }
    if part.state == "tight" and part.name == HEAP and gc_ratio >= BUSY_GC_RATIO:
        return message(
            "Too little {part:name}: collections take {share:share} of the time, and leave "
            "{used:message} of {now:message} in use.",
            share=gc_ratio,
            **sizes,
        )
    if part.state == "tight":
        return message("Too little {part:name}: {used:message} of {now:message} are used.", **sizes)
    if part.name == MANAGED:
        return message("Nothing reserves managed memory; it has {now:message}.", now=sizes["now"])
    if part.name == HEAP:
        return message(
            "More {part:name} than needed: a collection leaves {used:message} of {now:message}.",
            **sizes,
        )
    return message(
        "More {part:name} than needed: at most used are {used:message} of {now:message}.", **sizes
    )
