"""What calls of a fleet come to, in words."""

from django.utils.translation import gettext

from webapp.filesystem_calls.audit_logs import AuditedCalls
from webapp.filesystem_calls.fleet_calls import FileSystemCalls, FleetCalls
from webapp.filesystem_calls.namenodes import NameNode


def burst_sentence(one: FileSystemCalls) -> str:
    name = one.file_system or gettext("a file system that is not known")
    left_out = (
        gettext(" %(unknown)s of its %(jobs)s jobs are left out: no audit counted their files.")
        % {"unknown": f"{one.unknown:,}", "jobs": f"{one.jobs:,}"}
        if one.unknown
        else ""
    )
    if not one.peak:
        return gettext("Calls to %(name)s are not known.%(left_out)s") % {"name": name, "left_out": left_out}
    jobs = gettext("%(together)s jobs together") % {"together": f"{len(one.together):,}"} if len(one.together) > 1 else gettext("1 job")
    rate = gettext("%(peak)s calls in its worst second, of %(jobs)s, against %(per_s)s calls/s over time.") % {
        "peak": f"{one.peak:,.0f}",
        "jobs": jobs,
        "per_s": f"{one.per_s:,.1f}",
    }
    gain = gettext(" To stagger them would gain little.")
    if one.staggered_peak < one.steady_peak * 0.95:
        gain = gettext(" Begun at other seconds the worst would be %(staggered_peak)s instead of %(steady_peak)s.") % {
            "staggered_peak": f"{one.staggered_peak:,.0f}",
            "steady_peak": f"{one.steady_peak:,.0f}",
        }
    return f"{name}: {rate}{gain}{left_out}"


def balance_sentence(found: FleetCalls) -> str:
    if len(found.before) < 2:
        return gettext("There is one file system: suppose more of them to see which jobs would move.")
    if not found.moves:
        return gettext("No other distribution by this rule would relieve the file system that has most to do.")
    before, after = max(found.before.values()), max(found.after.values())
    jobs = gettext("1 job") if len(found.moves) == 1 else gettext("%(moves)s jobs") % {"moves": f"{len(found.moves):,}"}
    return gettext("%(jobs)s moved, the busiest file system would have %(after)s calls/s over time instead of %(before)s.") % {
        "jobs": jobs,
        "after": f"{after:,.1f}",
        "before": f"{before:,.1f}",
    }


def audit_sentence(one: AuditedCalls) -> str:
    """Who makes most calls, and who of them does in the worst second."""
    refused = gettext(" %(refused)s were refused or of a path that is not there.") % {"refused": f"{one.refused:,}"} if one.refused else ""
    share = gettext("%(no_job)s of them have the id of a job in their path.") % {"no_job": f"{one.calls - one.no_job:,}"}
    worst = max(one.callers, key=lambda caller: caller.in_peak, default=None)
    who = (
        gettext(", %(in_peak)s of them by %(user)s at %(address)s")
        % {"in_peak": f"{worst.in_peak:,}", "user": worst.user, "address": worst.address}
        if worst
        else ""
    )
    return gettext("%(calls)s calls; %(peak)s in the worst second%(who)s. %(share)s%(refused)s") % {
        "calls": f"{one.calls:,}",
        "peak": f"{one.peak:,}",
        "who": who,
        "share": share,
        "refused": refused,
    }


def audit_hint(found: FleetCalls) -> str:
    """Where nothing is observed, why; "" where all that is declared was."""
    if found.observed.why:
        return found.observed.why
    if found.observed.silent:
        return gettext("Audit logs that are declared have no calls of these minutes: %(silent)s.") % {
            "silent": ", ".join(found.observed.silent)
        }
    return "" if found.observed.logs else gettext("No audit log of a NameNode is declared: what is shown is what checkpoints should cost.")


def namenode_sentence(one: NameNode, expected_per_s: float) -> str:
    """How loaded it is, and which share of its calls checkpoints should be."""
    load = gettext("How long calls wait in its queue is not known.")
    if one.queue_ms is not None:
        most = (
            gettext(", %(most_queue_ms)s ms at most") % {"most_queue_ms": f"{one.most_queue_ms:,.1f}"}
            if one.most_queue_ms is not None
            else ""
        )
        load = gettext("Calls wait %(queue_ms)s ms in its queue%(most)s.") % {"queue_ms": f"{one.queue_ms:,.1f}", "most": most}
    slow = gettext(" Each writer waits with them: stagger checkpoints, make files fewer, or move jobs.") if one.is_slow else ""
    if one.per_s is None:
        return gettext("%(load)s%(slow)s Calls a second are known from two samples of one run of the NameNode on.") % {
            "load": load,
            "slow": slow,
        }
    return gettext("%(load)s%(slow)s It had %(per_s)s calls/s; checkpoints of the jobs known here should cost %(expected_per_s)s.") % {
        "load": load,
        "slow": slow,
        "per_s": f"{one.per_s:,.1f}",
        "expected_per_s": f"{expected_per_s:,.1f}",
    }


def namenode_hint(found: FleetCalls) -> str:
    """Why nothing is known; "" where all that is declared was read."""
    if found.namenodes.why:
        return found.namenodes.why
    if found.namenodes.silent:
        return gettext("No sample of these minutes from the NameNode of %(silent)s: see skipped inputs of the pipeline.") % {
            "silent": ", ".join(found.namenodes.silent)
        }
    return "" if found.namenodes.known else gettext("No NameNode is declared: how loaded it is, is unknown.")
