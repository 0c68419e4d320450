"""Which keyed states of one job have no time-to-live, by the ``_metadata`` of its newest checkpoint."""

from collections.abc import Iterator

from ingest.messages import join_messages, message
from webapp.fleet.models import JobCurrent
from webapp.lib.quantities import UNKNOWN
from webapp.reports import texts
from webapp.reports.document import Table
from webapp.storage.state_expiry import NamedState, state_expiry

MOST_ROWS = 20


def tables(job: JobCurrent) -> Iterator[Table]:
    """One, where the checkpoint can be read: states that live forever first."""
    found = state_expiry(job)
    if not found.states:
        return
    states = sorted(found.states, key=lambda one: (one.expires is not False, one.expires is not None))
    rows = tuple(
        (texts.name(one.operator), texts.name(one.name) if one.name else UNKNOWN, one.kind.lower() or UNKNOWN, _expires(one))
        for one in states[:MOST_ROWS]
    )
    left_out = len(states) - MOST_ROWS
    note = [
        texts.bounded(found.sentence, texts.PARAGRAPH),
        message("By the _metadata of checkpoint {checkpoint_id:name}.", checkpoint_id=str(found.checkpoint_id)),
        message("{left_out:count} more are on the page State backend.", left_out=left_out) if left_out > 0 else "",
    ]
    yield Table(
        message("Time-to-live of keyed states"),
        (message("Operator"), message("State"), message("Kind"), message("Time-to-live")),
        rows,
        (),
        join_messages(note, " "),
    )


def _expires(state: NamedState) -> str:
    return "unknown" if state.expires is None else "yes" if state.expires else "no"
