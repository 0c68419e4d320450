from collections.abc import Iterator

from ingest.messages import join_messages, list_text, message, plural
from spark_jobs.diagnosis.preflight.judging import OperatorFate, Preflight
from spark_jobs.diagnosis.preflight.subjects import Snapshot
from webapp.analyses.declaration import analysis
from webapp.analyses.document import (
    Block,
    Column,
    Document,
    Fact,
    Facts,
    Inputs,
    Note,
    Table,
    Value,
    Verdict,
)
from webapp.analyses.recovery.preflight import Answer
from webapp.analyses.recovery.preflight import preflight as check_snapshot
from webapp.fleet.models import JobCurrent
from webapp.lib.filter_sets import ListFilters
from webapp.lib.query_parameters import Choice, LongText
from webapp.lib.translations import gettext_lazy as _

RESTORES = {
    "restores": message("fine"),
    "refused": message("does not restore"),
    "unknown": message("not known"),
}
FATES = {
    "matched": message("restored"),
    "new": message("new, starts empty"),
    "dropped": message("dropped"),
    "unknown": message("not known"),
    "no_state": message("gone, had no state"),
}
_ORDER = tuple(FATES)[::-1]
MOST_SHOWN = 1_000


CHOICES = (_("unchanged"), _("allowed"))
"""Values of the parameters, here so that they are translated."""


class PreflightFilters(ListFilters):
    snapshot = LongText(
        about=_("checkpoint or savepoint as Flink names it; without it, the job's newest")
    )
    types = Choice(
        ("unchanged",),
        about=_("types, serializers, time-to-live and timers of state are those of the snapshot"),
    )
    dropped = Choice(
        ("allowed",),
        about=_("state without an operator is left behind (allowNonRestoredState=true)"),
    )


@analysis(
    "preflight",
    title="Will it restore?",
    summary="whether the job would restore from a snapshot, what would be lost, and what is not known",
    tab="state",
    parameters=PreflightFilters,
    in_report=True,
    is_slow=True,
)
def preflight(job: JobCurrent, inputs: Inputs) -> Document:
    values = inputs.parameters.values
    answer = check_snapshot(
        job,
        values.get("snapshot") or "",
        may_drop=values.get("dropped") == "allowed",
        keeps_types=values.get("types") == "unchanged",
    )
    if answer.snapshot is None or answer.result is None:
        return Document(Verdict("unknown", answer.why))
    return Document(_verdict(answer.result), tuple(_blocks(answer, answer.snapshot, answer.result)))


def _verdict(result: Preflight) -> Verdict:
    deciding = [reason for reason in result.reasons if reason.outcome == result.outcome]
    if result.outcome == "restores":
        lost = result.lost_bytes
        if lost:
            return Verdict(
                "warn", message("It restores, and leaves {lost:bytes} of state behind.", lost=lost)
            )
        return Verdict("ok", "It restores.")
    why = join_messages((reason.text for reason in deciding), " ")
    if result.outcome == "refused":
        return Verdict("crit", message("It does not restore. {why:message}", why=why))
    return Verdict("unknown", message("Whether it restores is not known. {why:message}", why=why))


def _blocks(answer: Answer, snapshot: Snapshot, result: Preflight) -> Iterator[Block]:
    yield Table.of(
        result.reasons,
        "reasons",
        "What decides",
        (
            Column("outcome", "Outcome", value=lambda reason: RESTORES[reason.outcome]),
            Column("check", "Check", "mono"),
            Column("reason", "Reason", value="text"),
            Column("source", "Source", "mono"),
        ),
    )
    yield _operators(result)
    yield Facts(
        (
            Fact("outcome", "Outcome", RESTORES[result.outcome]),
            Fact("path", "Snapshot", snapshot.path, "mono"),
            Fact("checkpoint_id", "Checkpoint", snapshot.checkpoint_id, "number"),
            Fact("type", "Kind", _kind(snapshot)),
            Fact("format_version", "Format", snapshot.format_version, "number"),
            Fact("written_by", "Written by Flink", snapshot.flink_version),
            Fact("took_it", "Taken by this run of the job", answer.took_it, "flag"),
            Fact("files", "Files", snapshot.files, "count"),
            Fact("lost_bytes", "State that would be lost", result.lost_bytes, "bytes"),
        )
    )
    if snapshot.foreign:
        yield Note(
            plural(
                len(snapshot.foreign),
                "It refers into {directories:count} directory of others, which must stay: {names:text}.",
                "It refers into {directories:count} directories of others, which must stay: "
                "{names:text}.",
                directories=len(snapshot.foreign),
                names=list_text(snapshot.foreign),
            )
        )
    if result.can_hit:
        yield Note(
            message(
                "Known bugs of this release that can hit the job: {issues:names}.",
                issues=list(result.can_hit),
            )
        )


def _kind(snapshot: Snapshot) -> Value:
    if snapshot.type_name is None:
        return message("canonical savepoint") if snapshot.is_canonical else None
    if snapshot.savepoint_format is None:
        return snapshot.type_name
    return f"{snapshot.type_name}, {snapshot.savepoint_format}"


def _operators(result: Preflight) -> Table:
    in_snapshot = message("in the snapshot")
    return Table.of(
        sorted(result.operators, key=lambda operator: _ORDER.index(operator.fate)),
        "operators",
        "Operators",
        (
            Column("fate", "State", value=lambda operator: FATES[operator.fate]),
            Column("name", "Operator", value=_name),
            Column("operator_id", "Id", "mono"),
            Column(
                "uid",
                "uid",
                "mono",
                "since 2.0, where the job sets one",
                "stored.uid",
            ),
            Column("state_bytes", "Size", "bytes", value="stored.state_bytes"),
            Column(
                "kinds",
                "Kinds of state",
                "mono",
                value=lambda operator: (
                    ", ".join(sorted(operator.stored.kinds)) if operator.stored else None
                ),
            ),
            Column("parallelism", "Parallelism", "count", in_snapshot, "stored.parallelism"),
            Column(
                "planned",
                "of the job",
                "count",
                "parallelism of the job",
                "planned.parallelism",
            ),
            Column(
                "max_parallelism",
                "Maximum",
                "count",
                in_snapshot,
                "stored.max_parallelism",
            ),
            Column(
                "planned_max",
                "of the job",
                "count",
                "maximum of the job",
                "planned.max_parallelism",
            ),
            Column("missing", "Files missing", "count", value="stored.missing"),
        ),
        most=MOST_SHOWN,
    )


def _name(operator: OperatorFate) -> str | None:
    stored, planned = operator.stored, operator.planned
    return (stored.name if stored else None) or (planned.name if planned else None)
