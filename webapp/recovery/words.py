"""What kinds of restores are called, and what they come to."""

from django.utils.translation import gettext

from webapp.lib.quantities import bytes_text, count_text, duration_text, percent_text
from webapp.lib.translations import gettext_lazy as _
from webapp.recovery.failover import Failover
from webapp.recovery.job_restores import JobRestores
from webapp.recovery.observed_restores import CHECKPOINT, LOCAL, SAVEPOINT
from webapp.recovery.regional_checkpoints import LEAST_CHECKPOINTS

LABELS = {CHECKPOINT: _("Newest checkpoint"), LOCAL: _("Newest checkpoint, local recovery"), SAVEPOINT: _("Newest savepoint")}
MEANINGS = {
    CHECKPOINT: _("all tasks read their files from the storage"),
    LOCAL: _("no TaskManager was lost: tasks read the copies on their own disks, nothing from the storage"),
    SAVEPOINT: _("all state is read; of a canonical one every entry is written into the state backend again"),
}


def summary(found: JobRestores) -> str:
    """One sentence."""
    newest = next((one for one in found.choices if one.kind == CHECKPOINT), None)
    if newest is None:
        return gettext("No completed checkpoint is known: a restart begins without state.")
    of = (
        gettext("checkpoint %(checkpoint_id)s") % {"checkpoint_id": newest.checkpoint_id}
        if newest.state_bytes is None
        else gettext("checkpoint %(checkpoint_id)s of %(size)s")
        % {"checkpoint_id": newest.checkpoint_id, "size": bytes_text(newest.state_bytes)}
    )
    if newest.estimate is None:
        return gettext("How long a restore from %(of)s takes is not known: none of this job was observed with its size.") % {"of": of}
    least, expected, most = map(duration_text, (newest.estimate.least_ms, newest.estimate.expected_ms, newest.estimate.most_ms))
    return gettext(
        "A restore from %(of)s would take about %(expected)s (%(least)s to %(most)s), by %(observations)s that were observed."
    ) % {"of": of, "expected": expected, "least": least, "most": most, "observations": newest.estimate.observations}


def regional_summary(found: Failover) -> str:
    """What regional checkpoints would bring the job as large as it is, and how often its tasks fail theirs."""
    of = found.checkpoints
    if of.task_success is None:
        seen = gettext("%(failed)s of the last days were seen to their end, of at least %(least_checkpoints)s") % {
            "failed": count_text(of.completed + of.failed),
            "least_checkpoints": LEAST_CHECKPOINTS,
        }
        return gettext("How often its tasks fail a checkpoint is not known: %(seen)s.") % {"seen": seen}
    now = next(one for one in of.curve if one.is_now)
    taken, part = of.completed + of.failed, gettext("each task completed its part in")
    if of.at_least is not None:
        return gettext("None of its %(taken)s checkpoints failed: %(part)s %(at_least)s or more (95 %% confidence).") % {
            "taken": count_text(taken),
            "part": part,
            "at_least": rate_text(of.at_least),
        }
    rate = gettext("%(failed)s of its %(taken)s checkpoints failed, as if %(part)s %(task_success)s of them.") % {
        "failed": count_text(of.failed),
        "taken": count_text(taken),
        "part": part,
        "task_success": rate_text(of.task_success),
    }
    if now.own is None or now.regions == 1:
        return gettext("%(rate)s All its tasks are one region: a regional checkpoint is lost with any of them, as a full one is.") % {
            "rate": rate
        }
    shares = gettext("%(by_region)s would complete instead of %(full)s") % {
        "by_region": percent_text(now.own.by_region),
        "full": percent_text(now.own.full),
    }
    return gettext("%(rate)s By region %(shares)s.") % {"rate": rate, "shares": shares}


def rate_text(rate: float) -> str:
    """With as many digits as tell it from 1."""
    return f"{rate * 100:.6g} %"
