"""A flame graph of a vertex as pages and the API show it: the picture, and in words what is known
or what is missing.
"""

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.utils.translation import gettext

from webapp.charts.icicle import Icicle, icicle
from webapp.fleet.asked_of_flink import GIVEN_UP_AFTER
from webapp.lib.messages.rendering import localised
from webapp.profiles.choices import FlameGraphState as State
from webapp.profiles.flame_graph_requests import NOT_BEFORE
from webapp.profiles.models import FlameGraph

SWITCH_ON = "rest.flamegraph.enabled: true"


@dataclass(frozen=True)
class ShownFlameGraph:
    """``row`` None: nobody has asked for one.

    ``picture`` None: there is none, and ``sentence`` says why.
    """

    row: FlameGraph | None
    picture: Icicle | None
    sentence: str
    is_waited_for: bool
    may_ask: bool


def flame_graph_of(cluster: str, job_id: str, vertex_id: str, now: datetime) -> ShownFlameGraph:
    """One query."""
    row = FlameGraph.objects.filter(cluster=cluster, job_id=job_id, vertex_id=vertex_id).first()
    if row is None:
        return ShownFlameGraph(
            None,
            None,
            gettext("No flame graph of this vertex was asked for."),
            is_waited_for=False,
            may_ask=True,
        )
    waited_for = row.ask_at is not None and row.wanted_at > now - GIVEN_UP_AFTER
    picture = (
        icicle([(int(depth), str(name), int(samples)) for depth, name, samples in row.frames])
        if row.sampled_at
        else None
    )
    rests = row.answered_at is not None and row.answered_at > now - NOT_BEFORE
    return ShownFlameGraph(
        row,
        picture,
        _sentence(row, waited_for),
        waited_for,
        may_ask=not (waited_for or rests),
    )


def _sentence(row: FlameGraph, waited_for: bool) -> str:
    newest = (
        gettext(" The one shown was sampled before: %(sentence)s")
        % {"sentence": localised(row.sentence)}
        if row.sampled_at
        else ""
    )
    if waited_for and row.asked == 0:
        return gettext(
            "A flame graph was requested; the next collect cycle asks Flink for it.%(newest)s"
        ) % {"newest": newest}
    if row.state == State.SAMPLING:
        return gettext("Flink is sampling it; it is asked again in a few seconds.%(newest)s") % {
            "newest": newest
        }
    if row.state == State.SAMPLED:
        return localised(row.sentence)
    if row.state == State.OFF:
        return gettext(
            "Flame graphs are not switched on: set %(switch_on)s in the configuration of Flink and "
            "restart its JobManager.%(newest)s",
        ) % {"switch_on": SWITCH_ON, "newest": newest}
    if row.state == State.ENDED:
        return gettext(
            "The tasks of this vertex have ended; there is nothing to sample.%(newest)s",
        ) % {"newest": newest}
    if row.state == State.FAILED:
        again = gettext(" It is asked again.") if waited_for else ""
        return gettext("Flink gave none: %(note)s%(again)s%(newest)s") % {
            "note": row.note,
            "again": again,
            "newest": newest,
        }
    return gettext("It was requested, but the cluster could not be asked since.%(newest)s") % {
        "newest": newest
    }


def as_plain(shown: ShownFlameGraph) -> dict[str, Any]:
    """For the API."""
    row = shown.row
    return {
        "state": row.state if row else None,
        "sentence": shown.sentence,
        "sampled_at": row.sampled_at if row else None,
        "subtask": row.subtask if row else None,
        "samples": row.samples if row else None,
        "method": (row.method or None) if row else None,
        "method_samples": row.method_samples if row else None,
    }
