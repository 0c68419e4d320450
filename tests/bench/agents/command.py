"""An agent that is a program: the environment variable ``WEIR_AGENT_COMMAND`` is its command line.

It is started for each question, and both sides write JSON, one object a line. First it reads ::

    {"question": "…", "cluster": "c1", "job": "", "causes": {"slow_host": "An operator is …", …},
     "tools": [{"name": "why", "description": "…", "input_schema": {…}}, …], "most_calls": 20}

Then it writes a call, and reads what that tells, as often as it wants to ::

    {"call": "why", "arguments": {"cluster": "c1", "job": "job-1"}}
    {"told": {…}, "is_error": false}

At last it writes its answer. What is not to blame, it leaves out ::

    {"cause": "slow_host", "vertex": "enrich", "subtask": 0, "host": "flink-tm-1",
     "next_step": "Compare flink-tm-1 with the other hosts."}

Whoever writes anything else, more calls than ``most_calls``, or nothing for ``SECONDS`` in all, has
no answer. Its standard error is that of the bench.
"""

import json
import os
import shlex
import signal
import subprocess
import threading
from contextlib import suppress
from typing import Any

from tests.bench.agents.causes import CAUSES
from tests.bench.agents.play import MOST_CALLS, Agent, Call, Steps, Task, Tools, answer_of

VARIABLE = "WEIR_AGENT_COMMAND"
SECONDS = 300
MOST_LINE = 100_000
QUESTION = (
    "Is something wrong with this cluster of Apache Flink, or with the job if one is named? Which "
    "of the causes is its root, which vertex, subtask (from 0) and host does it come from, and what "
    "is the next step?"
)


def by_command(command: str, seconds: float = SECONDS) -> Agent:
    def agent(task: Task, tools: Tools) -> Steps:
        with subprocess.Popen(
            shlex.split(command),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            start_new_session=True,
        ) as process:
            timer = threading.Timer(seconds, _kill, (process,))
            timer.start()
            try:
                said = _ask(process, _opening(task, tools))
                while isinstance(said.get("call"), str):
                    told = yield Call(said["call"], said.get("arguments"))
                    said = _ask(process, {"told": told.answer, "is_error": told.is_error})
                return answer_of(said)
            finally:
                timer.cancel()
                _kill(process)
                with suppress(BrokenPipeError):  # it may have ended without reading
                    assert process.stdin
                    process.stdin.close()

    return agent


def _opening(task: Task, tools: Tools) -> dict[str, Any]:
    return {
        "question": QUESTION,
        "cluster": task.cluster,
        "job": task.job,
        "causes": {code: cause.about for code, cause in CAUSES.items()},
        "tools": tools.described,
        "most_calls": MOST_CALLS,
    }


def _ask(process: subprocess.Popen[str], words: dict[str, Any]) -> dict[str, Any]:
    """What it says next, {} where that is no JSON object or it has ended."""
    assert process.stdin and process.stdout
    with suppress(BrokenPipeError, ValueError):
        process.stdin.write(json.dumps(words, ensure_ascii=False) + "\n")
        process.stdin.flush()
        said = json.loads(process.stdout.readline(MOST_LINE))
        return said if isinstance(said, dict) else {}
    return {}


def _kill(process: subprocess.Popen[str]) -> None:
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
