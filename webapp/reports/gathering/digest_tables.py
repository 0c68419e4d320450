"""The tables of a digest. Pure."""

from ingest.messages import message
from webapp.lib.instants import day_and_clock_text
from webapp.lib.quantities import UNKNOWN, bytes_text, count_text, exact_percent_text
from webapp.reports.document import Table
from webapp.reports.gathering import bursts
from webapp.reports.gathering.week import Week

MOST_NEW = 40


def tables(week: Week) -> tuple[Table, ...]:
    kept = (_kept(week),) if week.kept else ()
    calls = (bursts.table(week.bursts),) if week.bursts else ()
    return (_jobs(week), _new(week), _alerts(week), _clusters(week), _storage(week), *calls, *kept)


def _jobs(week: Week) -> Table:
    rows = tuple(
        (
            job_week.name,
            job_week.cluster,
            count_text(job_week.critical),
            count_text(job_week.warning),
            message(
                "{failed:name} of {settled:name}",
                failed=count_text(job_week.failed),
                settled=count_text(job_week.settled),
            ),
            job_week.reason,
        )
        for job_week in week.worst
    )
    columns = (
        message("Job"),
        message("Cluster"),
        message("Critical"),
        message("Warning"),
        message("Checkpoints failed"),
        message("The worst of it"),
    )
    note = (
        message(
            "the worst {rows:number} of {troubled:name} in trouble",
            rows=len(rows),
            troubled=count_text(week.troubled),
        )
        if week.troubled > len(rows)
        else message("the worst first")
    )
    return Table(
        message("Jobs in trouble"),
        columns,
        rows,
        (2, 3, 4),
        note,
        message("No job was in trouble."),
    )


def _new(week: Week) -> Table:
    rows = tuple(
        (
            finding.severity,
            finding.title,
            finding.job_name or finding.cluster,
            day_and_clock_text(finding.first_seen),
            "open" if finding.is_open else "ended",
        )
        for finding in week.began[:MOST_NEW]
    )
    note = message(
        "{began_count:name} began, {ended_count:name} ended, {open_count:name} are open",
        began_count=count_text(week.began_count),
        ended_count=count_text(week.ended_count),
        open_count=count_text(week.open_count),
    )
    return Table(
        message("New findings"),
        (
            message("Severity"),
            message("Finding"),
            message("Where"),
            message("First seen (UTC)"),
            message("State"),
        ),
        rows,
        (3,),
        note,
        message("Nothing new was found."),
    )


def _alerts(week: Week) -> Table:
    rows = tuple(
        (rule, count_text(count), count_text(acknowledged))
        for rule, count, acknowledged in week.alerts
    )
    return Table(
        message("Alerts by rule"),
        (message("Rule"), message("Fired"), message("Acknowledged")),
        rows,
        (1, 2),
        "",
        message("No alert fired."),
    )


def _clusters(week: Week) -> Table:
    rows = tuple(
        (
            checkpoint.cluster,
            count_text(checkpoint.jobs),
            count_text(checkpoint.completed),
            count_text(checkpoint.failed),
            success_text(checkpoint.success),
        )
        for checkpoint in week.checkpoints
    )
    columns = (
        message("Cluster"),
        message("Jobs"),
        message("Completed"),
        message("Failed"),
        message("Success"),
    )
    return Table(
        message("Checkpoints by cluster"),
        columns,
        rows,
        (1, 2, 3, 4),
        message("savepoints included, the least successful first"),
        message("No checkpoint ended."),
    )


def _storage(week: Week) -> Table:
    rows = tuple(
        (
            root.root,
            bytes_text(root.bytes),
            "–" if root.raw_bytes is None else bytes_text(root.raw_bytes),
            _signed(root.grown_bytes),
            bytes_text(root.orphan_bytes),
            _signed(root.orphans_grown_bytes),
            count_text(root.missing_files),
            day_and_clock_text(root.as_of),
        )
        for root in week.roots
    )
    columns = (
        message("Root"),
        message("Bytes"),
        message("Raw"),
        message("Growth"),
        message("Orphaned"),
        message("Growth of orphans"),
        message("Missing files"),
        message("Audited (UTC)"),
    )
    note = message("the largest growth first; raw: as often as HDFS stores it")
    return Table(
        message("Checkpoint storage"),
        columns,
        rows,
        (1, 2, 3, 4, 5, 6, 7),
        note,
        message("No audit looked in this time."),
    )


def _kept(week: Week) -> Table:
    rows = tuple(
        (
            snapshots.root,
            count_text(snapshots.savepoints),
            bytes_text(snapshots.savepoint_bytes),
            day_and_clock_text(snapshots.oldest) if snapshots.oldest else UNKNOWN,
            count_text(snapshots.ended_jobs),
            bytes_text(snapshots.ended_bytes),
        )
        for snapshots in week.kept
    )
    columns = (
        message("Root"),
        message("Savepoints"),
        message("Size"),
        message("Oldest (UTC)"),
        message("Ended jobs"),
        message("Their checkpoints"),
    )
    note = message(
        "savepoints, and checkpoints of ended jobs: Flink deletes neither; the page Retention of a "
        "root says who may need them"
    )
    return Table(message("Kept until somebody deletes it"), columns, rows, (1, 2, 3, 4, 5), note)


def success_text(share: float | None) -> str:
    """Every one of them is 100 %, and nothing else is."""
    return "100 %" if share == 1 else exact_percent_text(share)


def _signed(size_bytes: int | None) -> str:
    if size_bytes is None:
        return UNKNOWN
    return f"{'−' if size_bytes < 0 else '+'}{bytes_text(abs(size_bytes))}"
