"""The tables of a digest. Pure."""

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
            one.name,
            one.cluster,
            count_text(one.critical),
            count_text(one.warning),
            f"{count_text(one.failed)} of {count_text(one.settled)}",
            one.reason,
        )
        for one in week.worst
    )
    columns = ("Job", "Cluster", "Critical", "Warning", "Checkpoints failed", "The worst of it")
    note = f"the worst {len(rows)} of {count_text(week.troubled)} in trouble" if week.troubled > len(rows) else "the worst first"
    return Table("Jobs in trouble", columns, rows, (2, 3, 4), note, "No job was in trouble.")


def _new(week: Week) -> Table:
    rows = tuple(
        (one.severity, one.title, one.job_name or one.cluster, day_and_clock_text(one.first_seen), "open" if one.is_open else "ended")
        for one in week.began[:MOST_NEW]
    )
    note = f"{count_text(week.began_count)} began, {count_text(week.ended_count)} ended, {count_text(week.open_count)} are open"
    return Table("New findings", ("Severity", "Finding", "Where", "First seen (UTC)", "State"), rows, (3,), note, "Nothing new was found.")


def _alerts(week: Week) -> Table:
    rows = tuple((rule, count_text(count), count_text(acknowledged)) for rule, count, acknowledged in week.alerts)
    return Table("Alerts by rule", ("Rule", "Fired", "Acknowledged"), rows, (1, 2), "", "No alert fired.")


def _clusters(week: Week) -> Table:
    rows = tuple(
        (one.cluster, count_text(one.jobs), count_text(one.completed), count_text(one.failed), success_text(one.success))
        for one in week.checkpoints
    )
    columns = ("Cluster", "Jobs", "Completed", "Failed", "Success")
    return Table(
        "Checkpoints by cluster", columns, rows, (1, 2, 3, 4), "savepoints included, the least successful first", "No checkpoint ended."
    )


def _storage(week: Week) -> Table:
    rows = tuple(
        (
            one.root,
            bytes_text(one.bytes),
            "–" if one.raw_bytes is None else bytes_text(one.raw_bytes),
            _signed(one.grown_bytes),
            bytes_text(one.orphan_bytes),
            _signed(one.orphans_grown_bytes),
            count_text(one.missing_files),
            day_and_clock_text(one.as_of),
        )
        for one in week.roots
    )
    columns = ("Root", "Bytes", "Raw", "Growth", "Orphaned", "Growth of orphans", "Missing files", "Audited (UTC)")
    note = "the largest growth first; raw: as often as HDFS stores it"
    return Table("Checkpoint storage", columns, rows, (1, 2, 3, 4, 5, 6, 7), note, "No audit looked in this time.")


def _kept(week: Week) -> Table:
    rows = tuple(
        (
            one.root,
            count_text(one.savepoints),
            bytes_text(one.savepoint_bytes),
            day_and_clock_text(one.oldest) if one.oldest else UNKNOWN,
            count_text(one.ended_jobs),
            bytes_text(one.ended_bytes),
        )
        for one in week.kept
    )
    columns = ("Root", "Savepoints", "Size", "Oldest (UTC)", "Ended jobs", "Their checkpoints")
    note = "savepoints, and checkpoints of ended jobs: Flink deletes neither; the page Retention of a root says who may need them"
    return Table("Kept until somebody deletes it", columns, rows, (1, 2, 3, 4, 5), note)


def success_text(share: float | None) -> str:
    """Every one of them is 100 %, and nothing else is."""
    return "100 %" if share == 1 else exact_percent_text(share)


def _signed(size_bytes: int | None) -> str:
    if size_bytes is None:
        return UNKNOWN
    return f"{'−' if size_bytes < 0 else '+'}{bytes_text(abs(size_bytes))}"
