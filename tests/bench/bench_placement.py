"""Balanced placement on a plan of 8,000 vertices × up to 5,000 subtasks, with what each would
change.
"""

import random
import resource
import time

from spark_jobs.diagnosis.samples import Edge
from spark_jobs.placement.network_buffers import BufferSettings
from spark_jobs.placement.plan import Plan, PlannedVertex, make_plan
from spark_jobs.placement.slots import simulate
from spark_jobs.placement.spread import spread
from tests.bench.harness import Report

VERTICES, PARALLELISM, TASKMANAGERS, SLOTS_EACH = 8_000, 5_000, 1_000, 5
MOST_S = 10


def run(report: Report) -> None:
    plan = layered_plan()
    report("plan: tasks", plan.tasks, "")
    started = time.perf_counter()
    found = simulate(plan, [SLOTS_EACH] * TASKMANAGERS)
    ratios = {}
    for name, placement in vars(found).items():
        where = [placement.taskmanagers(vertex) for vertex in range(VERTICES)]
        ratios[name] = spread(plan, where, TASKMANAGERS, BufferSettings()).max_over_mean
    report("both placements with their figures", time.perf_counter() - started, "s", budget=MOST_S)
    report(
        "tasks of the fullest TaskManager over the mean, by default", ratios["by_default"] or 0, ""
    )
    report("the same, balanced", ratios["balanced"] or 0, "", budget=1.01)
    report("peak memory", resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024, "MB")


def layered_plan() -> Plan:
    """Sources, two shuffles behind them; a quarter of the vertices has fewer subtasks than the
    others.
    """
    chance = random.Random(1)
    layer = VERTICES // 3
    vertices = [
        PlannedVertex(
            str(at),
            str(at),
            PARALLELISM if at % 4 else chance.randint(PARALLELISM // 10, PARALLELISM),
        )
        for at in range(VERTICES)
    ]
    edges = []
    for at in range(layer, VERTICES):
        source = chance.randrange(at - layer, at)
        within = (
            "FORWARD" if vertices[source].parallelism == vertices[at].parallelism else "RESCALE"
        )
        edges.append(
            Edge(str(source), str(at), "HASH" if at // layer != source // layer else within)
        )
    return make_plan(vertices, edges)
