"""Gathering a digest of the fleet: a week (or what was asked for) of all clusters → a document of
the same form as an incident's.
"""

from collections.abc import Callable
from datetime import datetime

from django.db.models import Max

from ingest.messages import message
from webapp.fleet.models import Cluster, JobCurrent
from webapp.reports.document import Document, Source
from webapp.reports.gathering import digest_tables, digest_words
from webapp.reports.gathering.week import read

Progress = Callable[[int, str], None]
DIGEST = "digest"
MOST_IN_FULL = 6


def gather(
    start: datetime,
    end: datetime,
    *,
    uid: str,
    made_at: datetime,
    made_by: str,
    progress: Progress = lambda done, words: None,
) -> Document:
    """About twenty queries, whatever the fleet's size."""
    progress(10, message("counting what the week brought"))
    week, left_out = read(start, end)
    progress(60, message("putting it into words"))
    cut = [
        message(
            "{left_out:number} more new findings are left out; the findings page has them.",
            left_out=left_out,
        )
        if left_out
        else "",
        message(
            "The worst {most_in_full:number} of {began:number} findings are listed with their "
            "figures.",
            began=len(week.began),
            most_in_full=MOST_IN_FULL,
        )
        if len(week.began) > MOST_IN_FULL
        else "",
    ]
    return Document(
        kind=DIGEST,
        uid=uid,
        title=message("Fleet digest, {days:name}", days=digest_words.days_text(start, end)),
        made_at=made_at,
        made_by=made_by,
        start=start,
        end=end,
        summary=digest_words.summary(week),
        findings=week.began[:MOST_IN_FULL],
        tables=digest_tables.tables(week),
        days=week.days,
        sources=_sources(),
        unknowns=_unknowns(made_at),
        cut=tuple(filter(None, cut)),
    )


def has_anything(start: datetime, end: datetime) -> bool:
    """Whether anything was seen in this time: an empty week needs no digest."""
    return JobCurrent.objects.filter(last_seen_at__gte=start, first_seen_at__lt=end).exists()


def _sources() -> tuple[Source, ...]:
    newest = JobCurrent.objects.aggregate(newest=Max("as_of"))["newest"]
    return (
        Source(
            message("Jobs, checkpoints and findings in the database"),
            newest,
            message("newest observation"),
        ),
    )


def _unknowns(now: datetime) -> tuple[str, ...]:
    unseen = list(Cluster.objects.unseen(now).order_by("name").values_list("name", flat=True)[:21])
    if not unseen:
        return ()
    more = message(" and more") if len(unseen) > 20 else ""
    return (
        message(
            "Not seen when this was made: {join:name}{more:message}. What happened there since is "
            "not known.",
            join=", ".join(unseen[:20]),
            more=more,
        ),
    )
