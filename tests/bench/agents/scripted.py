"""Two agents that follow a fixed policy, one for each set of tools: they find what is said in so
many words, and no more.
"""

import json
import re
from typing import Any

from tests.bench.agents.causes import NOTHING
from tests.bench.agents.play import Answer, Call, Steps, Task, Tools

WEIR_SIGNS = (
    ("lost_checkpoint_file", "SNAPSHOT_GONE"),
    ("lost_leadership", "^jobmanager.crash_loop .*LEADERSHIP_LOST"),
    ("broken_jobmanager_store", "^jobmanager.crash_loop"),
    ("known_job", "^jobmanager.error .*JOB_KNOWN_ALREADY"),
    ("failing_program", "^jobmanager.error .*program was not run"),
    ("memory_of_containers", "^start.workers_lost .*OUT_OF_MEMORY"),
    ("refused_containers", "^start.workers_lost .*CLUSTER_REFUSES"),
    ("taskmanagers_end", "^start.workers_lost"),
    ("unread_input", "^data.unread"),
    ("lost_checkpoint_file", "^restore.missing_file|FileNotFoundException"),
    ("lost_state", "^restore.without_state"),
    ("few_network_buffers", "Insufficient number of network buffers"),
    ("short_rpc_timeout", "AskTimeoutException"),
    ("external_system", "^restart.loop .*the connection to an outside system broke"),
    ("leak", "^memory.step_after_restart"),
    ("short_transactions", "^sink.transaction_timeout"),
    ("lost_taskmanager", "^restart.taskmanager_lost|^restart.loop .*TaskManagers? (was|were) lost"),
    ("failing_operator", "^restart.loop|^job.failed"),
    ("slow_restore", "^start.slow_phase"),
    ("store_throttles", "STORE_THROTTLED"),
    ("store_refuses", "STORE_REFUSED"),
    ("failing_snapshot", "^checkpoint.declined"),
    ("full_after_savepoint", "^checkpoint.full_after_savepoint"),
    ("unretained_checkpoints", "^checkpoint.unprotected .*not retained"),
    ("storage_gone", "^checkpoint.failed .*its storage failed"),
    ("slow_synchronous_part", '^checkpoint.(sync|expired .*"phase": "sync")'),
    ("slow_asynchronous_part", '^checkpoint.(async|expired .*"phase": "async")'),
    ("blocked_source", "^checkpoint.start_delay .*A source receives the trigger itself"),
    ("write_stall", "^rocksdb.write_stall"),
    ("garbage_collection", "^pressure.root .*collected garbage"),
    ("slow_host", "^pressure.(root|skew) .*Compare .* with the other hosts first"),
    ("uneven_records", '^pressure.skew|^data.skew .*"of": "records"'),
    ("uneven_state", "^data.skew"),
    ("slow_network", "^pressure.outbound"),
    ("slow_operator", "^pressure.root|^checkpoint.(start_delay|alignment|expired)"),
    ("idle_partition", "^watermark.stalled"),
    ("dead_split", "^source.idle"),
    ("lagging_source", "^source.lag_growing"),
    ("uneven_placement", "^placement.uneven"),
)
RAW_SIGNS = (
    ("few_network_buffers", "Insufficient number of network buffers"),
    ("lost_checkpoint_file", "FileNotFoundException"),
    ("store_throttles", "SlowDown|Status Code: 503"),
    ("store_refuses", "AccessDenied|Status Code: 403"),
    ("external_system", "Connection reset|SocketException"),
    ("short_rpc_timeout", "Ask timed out|Invocation of .* timed out"),
    ("lost_taskmanager", "no longer reachable|Connection unexpectedly closed"),
    ("failing_program", "ProgramInvocationException"),
    ("failing_snapshot", "Decline checkpoint"),
    ("storage_gone", "Failed to trigger checkpoint .*IOException"),
    ("slow_operator", "expired before completing"),
    ("failing_operator", "RUNNING to FAILED|rootCauseMessage|taskName"),
)
TROUBLE = " ERROR |expired before|Decline checkpoint| to FAILED|Caused by|no longer reachable"


def by_weir(task: Task, tools: Tools) -> Steps:
    """sick_jobs → why → evidence; of what has no job that runs, sick_jobs → evidence."""
    sick = (yield Call("sick_jobs", {"cluster": task.cluster})).answer
    jobs = [row["job_id"] for row in sick["jobs"] if _is_asked(task, row)]
    findings = [row for row in sick["other_findings"] if _is_asked(task, row)]
    if jobs or (task.job and not findings):
        why = (yield Call("why", {"cluster": task.cluster, "job": (jobs or [task.job])[0]})).answer
        cause = (why.get("incident") or {}).get("rule")
        findings = sorted(why.get("findings", ()), key=lambda row: row["rule"] != cause)
    if not findings:
        return Answer(NOTHING)
    return _read((yield Call("evidence", {"finding": str(findings[0]["finding"])})).answer)


def _is_asked(task: Task, row: dict[str, Any]) -> bool:
    return not task.job or (row["job"] or {}).get("quoted") == task.job


def _read(found: dict[str, Any]) -> Answer:
    facts = found["facts"]["quoted"]
    lists = (
        facts.get(name) for name in ("slowest", "declines", "silent_inputs", "not_acknowledged")
    )
    where = facts.get("source") or next((rows[-1] for rows in lists if rows), facts)
    vertex = where.get("vertex_name") or where.get("name")
    subtasks = where.get("hot_subtasks") or where.get("subtasks") or [where.get("subtask")]
    words = f"{found['rule']} {json.dumps(found, ensure_ascii=False)}"
    if failed := re.search(r'"quoted": "([^"(]+) \((\d+)/\d+\) - execution', words):
        vertex, subtasks = failed[1], [int(failed[2]) - 1]
    lost = [name.partition(":")[0] for name in facts.get("lost_taskmanagers", ())]
    hosts = [where["host"]] if where.get("host") else [*lost, *found["hosts"]]
    return Answer(
        _cause(WEIR_SIGNS, words),
        vertex or found["subject"]["quoted"],
        subtasks[0],
        hosts[0] if hosts else None,
        found["next_step"],
    )


def by_raw(task: Task, tools: Tools) -> Steps:
    """Overview → exceptions → checkpoints → a search in the logs."""
    overview = (yield Call("rest", {"path": "/jobs/overview"})).answer
    jobs = json.loads(overview["body"])["jobs"] if "body" in overview else []
    jobs = [job for job in jobs if task.job in ("", job["name"])]
    text = ""
    if jobs:
        worst = min(jobs, key=lambda job: job["state"] == "RUNNING")
        for name in ("exceptions", "checkpoints"):
            told = yield Call("rest", {"path": f"/jobs/{worst['jid']}/{name}"})
            text += told.answer.get("body", "")
    text += (yield Call("logs", {"texts": TROUBLE})).answer["lines"]
    failed = re.search(r"- (.+?) \((\d+)/\d+\) .* to FAILED on \S+ @ (\S+)", text)
    where = (failed[1], int(failed[2]) - 1, failed[3]) if failed else ()
    return Answer(_cause(RAW_SIGNS, text), *where)


def _cause(signs: tuple[tuple[str, str], ...], text: str) -> str:
    return next((cause for cause, sign in signs if re.search(sign, text)), NOTHING)
