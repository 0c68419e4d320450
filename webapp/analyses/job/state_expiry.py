from webapp.analyses.declaration import analysis
from webapp.analyses.document import Column, Document, Fact, Facts, Inputs, Table, Verdict
from webapp.analyses.storage.job_state_expiry import StateExpiry, job_state_expiry
from webapp.fleet.models import JobCurrent


@analysis(
    "state-expiry",
    title="Time-to-live",
    summary="which of its keyed states have a time-to-live, and which live forever",
    tab="state",
    in_report=True,
    is_slow=True,
)
def state_expiry(job: JobCurrent, inputs: Inputs) -> Document:
    expiry = job_state_expiry(job)
    if not expiry.states:
        return Document(_verdict(expiry))
    checkpoint = Fact(
        "checkpoint_id",
        "By the _metadata of checkpoint",
        expiry.checkpoint_id,
        "checkpoint",
    )
    return Document(_verdict(expiry), (_states(expiry), Facts((checkpoint,))))


def _verdict(expiry: StateExpiry) -> Verdict:
    if expiry.why:
        return Verdict("unknown", expiry.why)
    if not expiry.states:
        return Verdict("ok", "Its newest checkpoint has no keyed state.")
    if not expiry.sentence:
        return Verdict(
            "unknown",
            "Its newest checkpoint has keyed state, and no description of it that can be read.",
        )
    return Verdict("warn" if expiry.forever else "ok", expiry.sentence)


def _states(expiry: StateExpiry) -> Table:
    states = sorted(
        expiry.states, key=lambda state: (state.expires is not False, state.expires is not None)
    )
    return Table.of(
        states,
        "states",
        "Keyed states",
        (
            Column("operator", "Operator"),
            Column("operator_id", "Id", "mono"),
            Column(
                "state",
                "State",
                "text",
                "none: no description of it can be read",
                value="name",
            ),
            Column("kind", "Kind"),
            Column("expires", "Time-to-live", "flag"),
        ),
        note=(
            "Without a time-to-live a state keeps each key that it ever saw, unless the job "
            "clears it: the first place to look at where state grows. The _metadata does not "
            "show how expired entries are removed. RocksDB removes them during compaction "
            "(state.backend.rocksdb.compaction.filter.periodic-compaction-time limits the "
            "delay). A cleanup that runs only in full snapshots does not affect incremental "
            "checkpoints."
        ),
    )
