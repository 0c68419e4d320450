import html
import re
from typing import Any

from ingest.flink_rest.payloads.fields import Fields
from ingest.json_members import member
from ingest.records import Edge, SlotSharing, Vertex

_TAG = re.compile(r"<br\s*/?>")


def vertices(job: Any) -> tuple[Vertex, ...]:
    return tuple(
        Vertex(
            vertex_id=vertex.required_flink_id("id"),
            name=vertex.text("name") or "",
            parallelism=vertex.integer("parallelism"),
            max_parallelism=vertex.integer("maxParallelism"),
            status=vertex.text("status"),
        )
        for vertex in Fields(job).objects("vertices")
    )


def slot_sharing(job: Any) -> tuple[SlotSharing, ...] | None:
    groups = (
        (vertex.required_flink_id("id"), vertex.text("slotSharingGroupId"))
        for vertex in Fields(job).objects("vertices")
    )
    return tuple(SlotSharing(vertex_id, group) for vertex_id, group in groups if group) or None


def planned_vertices(plan: Any) -> tuple[Vertex, ...]:
    return tuple(
        Vertex(
            vertex_id=node.required_flink_id("id"),
            name=_plain(node.text("description")),
            parallelism=node.integer("parallelism"),
        )
        for node in _plan(plan).objects("nodes")
    )


def edges(plan: Any) -> tuple[Edge, ...]:
    return tuple(
        Edge(
            source.required_flink_id("id"),
            node.required_flink_id("id"),
            source.text("ship_strategy"),
        )
        for node in _plan(plan).objects("nodes")
        for source in node.objects("inputs")
    )


def is_in(payload: Any) -> bool:
    return bool(member(payload, "plan"))


def _plan(payload: Any) -> Fields:
    return Fields(payload).required_object("plan")


def _plain(description: str | None) -> str:
    return html.unescape(_TAG.sub(" ", description or "")).strip()
