from collections.abc import Iterator

from ingest.messages import list_text, message
from spark_jobs.diagnosis.findings import Evidence, Finding, Limits, NotJudged, Threshold
from spark_jobs.diagnosis.origins import NO_METRICS, OUTPUT_LEVEL, Outbound, Pressure, pressure_of
from spark_jobs.diagnosis.pressure import typical
from spark_jobs.diagnosis.pressure_words import (
    hot_data,
    related_vertices,
    waiting_evidence,
)
from spark_jobs.diagnosis.rule import rule, vertex_finding
from spark_jobs.diagnosis.samples import JobWindow

RULE = "pressure.outbound"


@rule(
    RULE,
    message("Output held by the channel"),
    message(
        "A vertex waits with a full output while every vertex it feeds is neither busy nor waiting."
    ),
    fed_by="incidents/1.20.5/slow-network",
    needs=("vertex_windows",),
    lacking=NO_METRICS,
    thresholds=(
        Threshold(
            OUTPUT_LEVEL,
            0.5,
            "ratio",
            0.0,
            1.0,
            message(
                "Share of the range from the idle output usage to the usage that one hot "
                "channel can cause: half of a channel's buffers are queued."
            ),
        ),
    ),
)
def judge(window: JobWindow, limits: Limits) -> Iterator[Finding]:
    pressure = pressure_of(window, limits)
    for outbound in pressure.outbound.values():
        yield _finding(window, limits, pressure, outbound)
    for vertex_id, consumers in pressure.unexplained.items():
        if (
            not consumers
            and vertex_id in pressure.topology.out_edges
            and not any(
                usage is not None for usage in pressure.vertices[vertex_id].window.out_pool_usage
            )
        ):
            raise NotJudged(
                message(
                    "output usage of {vertex_id:name}, which waits though all that follows has "
                    "time to spare",
                    vertex_id=window.brief_name(vertex_id),
                )
            )


def _finding(window: JobWindow, limits: Limits, pressure: Pressure, outbound: Outbound) -> Finding:
    held = outbound.held
    vertex = pressure.vertices[held.vertex_id]
    name = window.brief_name(held.vertex_id)
    target_ids = pressure.topology.downstream(held.vertex_id)
    downstream = list_text(map(window.brief_name, target_ids))
    ways = pressure.ways_to(held.vertex_id)
    usage_limit = outbound.usage_at(limits[OUTPUT_LEVEL])
    working_ratios = [
        typical(
            pressure.vertices[target].working(index)
            for index in range(pressure.vertices[target].parallelism)
        )
        for target in target_ids
    ]
    return vertex_finding(
        window,
        held.vertex_id,
        RULE,
        "warning",
        "medium" if vertex.window.samples > 1 else "low",
        title=message(
            "{name:name} waits for its output while {behind:name} has time to spare",
            name=name,
            behind=downstream,
        ),
        cause=message(
            "{name:name} produces more than its channels carry: a function that multiplies "
            "records, a slow network, or a remote host.",
            name=name,
        ),
        next_step=(
            message(
                "Compare records in and out of {name:name}, and bytes sent to {behind:name} "
                "with what the network between their hosts gives. Filter or aggregate before "
                "the exchange, or keep the two in one chain.",
                name=name,
                behind=downstream,
            )
        ),
        evidence=(
            waiting_evidence(window, limits, pressure, held),
            Evidence(
                message("{name:name} output", name=name),
                outbound.usage,
                "ratio",
                usage_limit,
                ">",
                OUTPUT_LEVEL,
                message(
                    "idle floor {floor:decimal2}, one hot channel lifts it to {ceiling:decimal2}",
                    floor=outbound.floor,
                    ceiling=outbound.ceiling,
                ),
            ),
            *(
                Evidence(
                    message("{target:name} working", target=target),
                    share,
                    "ratio",
                    note=message("median over subtasks"),
                )
                for target, share in zip(
                    map(window.brief_name, target_ids), working_ratios, strict=True
                )
                if share is not None
            ),
        ),
        related=related_vertices(window, ways),
        data=hot_data(pressure, held.vertex_id, held.subtasks),
    )
