"""What calls of a fleet come to, in words."""

from webapp.filesystem_calls.audit_logs import AuditedCalls
from webapp.filesystem_calls.fleet_calls import FileSystemCalls, FleetCalls
from webapp.filesystem_calls.namenodes import NameNode


def burst_sentence(one: FileSystemCalls) -> str:
    name = one.file_system or "a file system that is not known"
    left_out = f" {one.unknown:,} of its {one.jobs:,} jobs are left out: no audit counted their files." if one.unknown else ""
    if not one.peak:
        return f"Calls to {name} are not known.{left_out}"
    jobs = f"{len(one.together):,} jobs together" if len(one.together) > 1 else "1 job"
    rate = f"{one.peak:,.0f} calls in its worst second, of {jobs}, against {one.per_s:,.1f} calls/s over time."
    gain = " To stagger them would gain little."
    if one.staggered_peak < one.steady_peak * 0.95:
        gain = f" Begun at other seconds the worst would be {one.staggered_peak:,.0f} instead of {one.steady_peak:,.0f}."
    return f"{name}: {rate}{gain}{left_out}"


def balance_sentence(found: FleetCalls) -> str:
    if len(found.before) < 2:
        return "There is one file system: suppose more of them to see which jobs would move."
    if not found.moves:
        return "No other distribution by this rule would relieve the file system that has most to do."
    before, after = max(found.before.values()), max(found.after.values())
    jobs = "1 job" if len(found.moves) == 1 else f"{len(found.moves):,} jobs"
    return f"{jobs} moved, the busiest file system would have {after:,.1f} calls/s over time instead of {before:,.1f}."


def audit_sentence(one: AuditedCalls) -> str:
    """Who makes most calls, and who of them does in the worst second."""
    refused = f" {one.refused:,} were refused or of a path that is not there." if one.refused else ""
    share = f"{one.calls - one.no_job:,} of them have the id of a job in their path."
    worst = max(one.callers, key=lambda caller: caller.in_peak, default=None)
    who = f", {worst.in_peak:,} of them by {worst.user} at {worst.address}" if worst else ""
    return f"{one.calls:,} calls; {one.peak:,} in the worst second{who}. {share}{refused}"


def audit_hint(found: FleetCalls) -> str:
    """Where nothing is observed, why; "" where all that is declared was."""
    if found.observed.why:
        return found.observed.why
    if found.observed.silent:
        return f"Audit logs that are declared have no calls of these minutes: {', '.join(found.observed.silent)}."
    return "" if found.observed.logs else "No audit log of a NameNode is declared: what is shown is what checkpoints should cost."


def namenode_sentence(one: NameNode, expected_per_s: float) -> str:
    """How loaded it is, and which share of its calls checkpoints should be."""
    load = "How long calls wait in its queue is not known."
    if one.queue_ms is not None:
        most = f", {one.most_queue_ms:,.1f} ms at most" if one.most_queue_ms is not None else ""
        load = f"Calls wait {one.queue_ms:,.1f} ms in its queue{most}."
    slow = " Each writer waits with them: stagger checkpoints, make files fewer, or move jobs." if one.is_slow else ""
    if one.per_s is None:
        return f"{load}{slow} Calls a second are known from two samples of one run of the NameNode on."
    return f"{load}{slow} It had {one.per_s:,.1f} calls/s; checkpoints of the jobs known here should cost {expected_per_s:,.1f}."


def namenode_hint(found: FleetCalls) -> str:
    """Why nothing is known; "" where all that is declared was read."""
    if found.namenodes.why:
        return found.namenodes.why
    if found.namenodes.silent:
        return f"No sample of these minutes from the NameNode of {', '.join(found.namenodes.silent)}: see skipped inputs of the pipeline."
    return "" if found.namenodes.known else "No NameNode is declared: how loaded it is, is unknown."
