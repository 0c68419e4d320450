"""Two agents that follow a fixed policy, one for each set of tools: they find what is said in so
many words, and no more.
"""

import json
import re
from typing import Any

from tests.bench.agents.causes import NOTHING
from tests.bench.agents.play import Answer, Call, Steps, Task, Tools

WEIR_SIGNS = (
    ("few_network_buffers", "Insufficient number of network buffers"),
    ("short_rpc_timeout", "ask time-?out|TimeoutException: (Invocation|Ask)"),
    ("external_system", "restart.loop .*(Connection|connection|reset|refused)"),
    ("leak", "^memory.step_after_restart"),
    ("lost_checkpoint_file", "^restore.missing_file"),
    ("lost_state", "^restore.without_state"),
    ("short_transactions", "^sink.transaction_timeout"),
    ("lost_taskmanager", "^restart.taskmanager_lost|^restart.loop .* lost"),
    ("failing_operator", "^restart.loop|^job.failed"),
    ("slow_restore", "^start.slow_phase"),
    ("store_throttles", "throttles requests"),
    ("store_refuses", "refuses access"),
    ("failing_snapshot", "^checkpoint.declined"),
    ("full_after_savepoint", "^checkpoint.full_after_savepoint"),
    ("unretained_checkpoints", "^checkpoint.unprotected .*retained"),
    ("storage_gone", "^checkpoint.failed"),
    ("slow_synchronous_part", "^checkpoint.(sync|expired .*synchronous part|too_frequent)"),
    ("slow_asynchronous_part", "^checkpoint.(async|expired .*asynchronous part)"),
    ("blocked_source", "^checkpoint.start_delay .*A source receives the trigger itself"),
    ("garbage_collection", "^pressure.root .*garbage"),
    ("slow_host", "^pressure.(root|skew) .*Compare .* with the other hosts"),
    ("uneven_records", "^pressure.skew|^data.skew .*records"),
    ("uneven_state", "^data.skew .*state"),
    ("slow_network", "^pressure.outbound"),
    ("slow_operator", "^pressure.root|^checkpoint.(start_delay|alignment|expired)"),
    ("idle_partition", "^watermark.stalled"),
    ("dead_split", "^source.idle"),
    ("lagging_source", "^source.lag_growing"),
    ("unread_input", "^data.unread"),
    ("write_stall", "^rocksdb.write_stall"),
    ("uneven_placement", "^placement.uneven"),
    ("memory_of_containers", "^start.workers_lost .*(OOM|memory)"),
    ("refused_containers", "^start.workers_lost .*quota"),
    ("taskmanagers_end", "^start.workers_lost"),
    ("lost_leadership", "^jobmanager.crash_loop .*lead"),
    ("broken_jobmanager_store", "^jobmanager.crash_loop"),
    ("failing_program", "^jobmanager.error .*program was not run"),
    ("known_job", "^jobmanager.error"),
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
    """sick_jobs → why → evidence."""
    sick = (yield Call("sick_jobs", {"cluster": task.cluster})).answer
    jobs = [row["job_id"] for row in sick["jobs"] if task.job in ("", row["job"]["quoted"])]
    if not (jobs or task.job):
        return Answer(NOTHING)
    job = jobs[0] if jobs else task.job
    why = (yield Call("why", {"cluster": task.cluster, "job": job})).answer
    if not why["findings"]:
        return Answer(NOTHING)
    of_incident = why["incident"] and why["incident"]["rule"]
    first, *_ = sorted(why["findings"], key=lambda row: row["rule"] != of_incident)
    return _read((yield Call("evidence", {"finding": str(first["finding"])})).answer)


def _read(found: dict[str, Any]) -> Answer:
    words = f"{found['rule']} {json.dumps(found, ensure_ascii=False)}"
    subtask = re.search(r"subtasks? (\d+)|/(\d+)\"", words)
    host = re.search(r'"hosts": \["([^"]+)"\]', words)
    return Answer(
        _cause(WEIR_SIGNS, words),
        found["subject"]["quoted"],
        int(subtask[1] or subtask[2]) if subtask else None,
        host[1] if host else None,
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
