"""Where a report's facts come from, how fresh they were, and what nobody knows."""

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta

from ingest.messages import join_messages, message
from webapp.config.row_retention import routine
from webapp.findings.models import JobJudgement
from webapp.fleet.choices import Visibility
from webapp.fleet.models import Cluster
from webapp.lib.instants import instant_text
from webapp.reports import texts
from webapp.reports.document import JobStory, Source
from webapp.reports.gathering.scope import JobKey, ReportScope
from webapp.work.models import Manifest, SkippedInput

MOST_UNKNOWNS = 40
_A_LITTLE = timedelta(minutes=2)


def sources(
    stories: Sequence[JobStory], clusters: Mapping[str, Cluster], now: datetime
) -> tuple[Source, ...]:
    loaded = (
        Manifest.objects.filter(state=Manifest.State.LOADED)
        .order_by("-id")
        .values_list("loaded_at", flat=True)
        .first()
    )
    listed = [
        Source(
            message("Results of Spark in the database"),
            loaded,
            message("newest run that was loaded"),
        )
    ]
    for name in sorted({story.cluster for story in stories}):
        cluster = clusters.get(name)
        seen = max(
            (
                story.last_seen_at
                for story in stories
                if story.cluster == name and story.last_seen_at
            ),
            default=None,
        )
        if cluster is None:
            listed.append(
                Source(
                    message("Cluster {name:name}", name=name),
                    seen,
                    message("no longer registered; what it reported before is kept"),
                )
            )
            continue
        visibility = cluster.visibility_at(now)
        notes = {
            Visibility.RECORDING: message("a recording, judged at its recorded time"),
            Visibility.LIVE: message("seen now"),
            Visibility.UNREACHABLE: message("not seen now"),
            Visibility.PAUSED: "paused",
            Visibility.NEW: message("never asked"),
            Visibility.BROKEN: message("without a JobManager, as its operator says"),
            Visibility.SUSPENDED: message("suspended by its operator"),
        }
        kept = cluster.last_success_at or seen
        listed.append(
            Source(
                message("Cluster {name:name}", name=name),
                kept,
                join_messages(
                    filter(
                        None,
                        (
                            notes.get(visibility, ""),
                            message(
                                "Flink {flink_version:name}",
                                flink_version=str(cluster.flink_version),
                            )
                            if cluster.flink_version
                            else "",
                        ),
                    ),
                    ", ",
                ),
            )
        )
    audits = [place.as_of for story in stories for place in story.storage if place.as_of]
    if audits:
        listed.append(
            Source(
                message("Audit of checkpoint storage"),
                max(audits),
                message("newest that saw directories of these jobs"),
            )
        )
    return tuple(listed)


def unknowns(
    stories: Sequence[JobStory],
    clusters: Mapping[str, Cluster],
    missing: Sequence[JobKey],
    scope: ReportScope,
    now: datetime,
) -> tuple[str, ...]:
    """Sentences. One query for what rules lacked, one for skipped inputs."""
    sentences: list[str] = [
        message(
            "Nothing is known of job {name:name} on {name2:name}.",
            name=texts.name(key.job_id),
            name2=texts.name(key.cluster),
        )
        for key in missing
    ]
    lacked = {
        (row.cluster, row.job_id): row.unknowns
        for row in JobJudgement.objects.filter(job_id__in=[story.job_id for story in stories])
    }
    for story in stories:
        sentences += _of_story(story, scope, now)
        for rule in (lacked.get((story.cluster, story.job_id)) or ())[:10]:
            sentences.append(
                message(
                    "{name:name}: rule {name2:name} could not judge; it lacked {bounded:name}.",
                    name=story.name,
                    name2=texts.name(rule.get("rule")),
                    bounded=texts.bounded(rule.get("missing")),
                )
            )
        cluster = clusters.get(story.cluster)
        if cluster is not None and cluster.visibility_at(now) == Visibility.UNREACHABLE:
            why = texts.bounded(cluster.last_error) or message("no answer")
            sentences.append(
                message(
                    "{name:name}: its cluster cannot be seen now ({why:name}), so its state now is "
                    "not known.",
                    name=story.name,
                    why=why,
                )
            )
        if cluster is not None and cluster.visibility_at(now) == Visibility.BROKEN:
            sentences.append(
                message(
                    "{name:name}: no JobManager of its cluster runs, as its operator says: "
                    "{bounded:name}.",
                    name=story.name,
                    bounded=texts.bounded(cluster.operator_message),
                )
            )
    names = {story.cluster for story in stories}
    skipped = SkippedInput.objects.filter(
        cluster__in=names, observed_at__gte=scope.start, observed_at__lte=scope.end
    ).count()
    if skipped:
        inputs = (
            message("One input")
            if skipped == 1
            else message("{skipped:number} inputs", skipped=skipped)
        )
        sentences.append(
            message(
                "{inputs:message} of these clusters could not be read in this time; the pipeline "
                "page says which and why.",
                inputs=inputs,
            )
        )
    return tuple(sentences[:MOST_UNKNOWNS])


def _of_story(story: JobStory, scope: ReportScope, now: datetime) -> list[str]:
    sentences: list[str] = []
    if story.judged_at is None:
        sentences.append(message("{name:name}: no rule has judged it yet.", name=story.name))
    elif not story.ended_at and not story.is_recording and story.judged_at < scope.end - _A_LITTLE:
        sentences.append(
            message(
                "{name:name}: judged up to {judged_at:name} only.",
                name=story.name,
                judged_at=instant_text(story.judged_at),
            )
        )
    if not story.is_recording and scope.start < now - routine():
        sentences.append(
            message(
                "{name:name}: log events and pressure older than {days:number} days are no "
                "longer kept; failed checkpoints and findings are.",
                name=story.name,
                days=routine().days,
            )
        )
    if (
        story.last_seen_at
        and story.last_seen_at > scope.end + timedelta(hours=1)
        and story.configuration
    ):
        sentences.append(
            message(
                "{name:name}: its configuration is that of {last_seen_at:name}; whether it was the "
                "same before is not known.",
                name=story.name,
                last_seen_at=instant_text(story.last_seen_at),
            )
        )
    if not story.pressure:
        sentences.append(
            message("{name:name}: no pressure was measured in this time.", name=story.name)
        )
    if not story.storage:
        sentences.append(
            message(
                "{name:name}: no audit of checkpoint storage has seen its directories.",
                name=story.name,
            )
        )
    if not story.logs:
        sentences.append(
            message("{name:name}: no notable log event was read in this time.", name=story.name)
        )
    return sentences
