"""A real Flink on loopback: one JobManager, two TaskManagers and a job that plays an incident.

with start("1.20.5", "declined") as lab:
    lab.url, lab.job_id, lab.log_glob, lab.checkpoint_dir
"""

import contextlib
import os
import secrets
import shutil
import signal
import subprocess
import sys
import time
import urllib.error
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, BinaryIO, Self

from tests.lab.configuration import MODULE_OPTIONS, TASKMANAGERS, Layout, write_configuration
from tests.lab.containers import piped, pod_log
from tests.lab.failing_store import FailingStore
from tests.lab.incidents import INCIDENTS
from tests.lab.jars import (
    ENTRY_CLASS,
    HADOOP_JARS,
    broker,
    files_jars,
    flink_jars,
    job_jar,
    kafka_jars,
    lab_home,
    reporter_jars,
    s3_jars,
)
from tests.lab.marked_processes import VARIABLE
from tests.lab.releases import DEFAULT_VERSION, RELEASES
from tests.lab.resetting_database import ResettingDatabase
from tests.lab.rest import call, call_or_none, upload_jar
from tests.lab.slow_network import SlowLink
from webapp.config.environment import PROJECT_DIR
from webapp.launch.home import listens

UP_WITHIN_S = 120
SUBMISSIONS = 40
_UNLIMITED = 1_000_000_000
JOBMANAGER_LOG = "standalonesession-0-flink-jm"
JOBMANAGER_CLASS = "org.apache.flink.runtime.entrypoint.StandaloneSessionClusterEntrypoint"
TASKMANAGER_CLASS = "org.apache.flink.runtime.taskexecutor.TaskManagerRunner"


class LabFailed(Exception):
    """The cluster or its job did not come up; the message says where the logs are."""


class Lab:
    """A running cluster with its job. Stops with its ``with`` block, and when this process dies.

    ``as_fleet``: as clusters of fleets are, which answer Prometheus and print JSON in containers,
    beside their plain log.
    """

    taskmanagers = TASKMANAGERS

    def __init__(
        self, version: str, incident: str, slot: int, folder: Path, *, as_fleet: bool = False
    ) -> None:
        self.release, self.incident, self.layout = (
            RELEASES[version],
            INCIDENTS[incident],
            Layout(folder, slot),
        )
        if as_fleet:
            self.incident = replace(self.incident, reports_metrics=True, prints_json=True)
        self.job_id = ""
        self._processes: dict[str, subprocess.Popen[bytes]] = {}
        self._links: list[SlowLink | ResettingDatabase | FailingStore] = []
        self._mark = secrets.token_hex(16)
        self._guard = subprocess.Popen(
            [sys.executable, "-m", "tests.lab.guard", self._mark, "5"],
            cwd=PROJECT_DIR,
            stdin=subprocess.PIPE,
            start_new_session=True,
        )

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.layout.rest_port}"

    @property
    def reporter_ports(self) -> list[int]:
        """Where its processes answer Prometheus, as part of a fleet."""
        return [port for name, port in self.layout.metrics_ports.items() if name in self._processes]

    @property
    def log_glob(self) -> str:
        return f"{self.layout.logs}/flink-*.log*"

    @property
    def checkpoint_dir(self) -> Path:
        return self.layout.checkpoints

    @property
    def switch(self) -> Path:
        """As long as this file exists, the fault of a switched incident is on."""
        return self.layout.folder / "fault-is-on"

    def get(self, path: str) -> Any:
        return call(self.url + path)

    def checkpoints(self, job_id: str = "") -> dict[str, Any]:
        """Flink's own account of a job's checkpoints; without an id those of the first job."""
        return dict(self.get(f"/jobs/{job_id or self.job_id}/checkpoints"))

    def wait_for(
        self, condition: Callable[[dict[str, Any]], bool], within_s: float = 90, job_id: str = ""
    ) -> dict[str, Any]:
        """The first account of the checkpoints that meets the condition."""
        deadline = time.monotonic() + within_s
        while time.monotonic() < deadline:
            with contextlib.suppress(OSError):
                account = self.checkpoints(job_id)
                if condition(account):
                    return account
            time.sleep(0.3)
        raise LabFailed(
            f"The checkpoints of {job_id or self.job_id} did not come to what was waited for in "
            f"{within_s:.0f} s: see {self.layout.logs}"
        )

    def savepoint(self, within_s: float = 60) -> str:
        """Take a savepoint while the job goes on; returns where it lies."""
        scheme = "file" if self.incident.storage_bytes_per_s is None else "slow"
        body = {"target-directory": f"{scheme}://{self.layout.savepoints}", "cancel-job": False}
        request = call(f"{self.url}/jobs/{self.job_id}/savepoints", body, "POST")["request-id"]
        deadline = time.monotonic() + within_s
        while time.monotonic() < deadline:
            answer = self.get(f"/jobs/{self.job_id}/savepoints/{request}")
            if answer["status"]["id"] == "COMPLETED":
                if location := answer["operation"].get("location"):
                    return str(location)
                raise LabFailed(
                    "The savepoint failed: "
                    f"{answer['operation'].get('failure-cause', {}).get('class')}"
                )
            time.sleep(0.2)
        raise LabFailed(f"The savepoint did not complete in {within_s:.0f} s.")

    def play_out(self, before_loss: Callable[[], None] | None = None) -> None:
        """What an incident needs besides its job: the savepoint of one that has a savepoint, the
        files that one loses.

        ``before_loss`` is called when those are still there.
        """
        if self.incident.savepoint_after is not None:
            enough = self.incident.savepoint_after
            self.wait_for(lambda account: account["counts"]["completed"] >= enough, within_s=600)
            self.savepoint(within_s=300)
        for seen_before in self.incident.killed_after:
            self.wait_for(
                lambda account, least=seen_before: account["counts"]["completed"] >= least,
                within_s=300,
            )
            self.kill_taskmanager(1)
            time.sleep(self.incident.killed_for_s)
            self.start_taskmanager(1)
        if self.incident.input_gone_after is not None:
            enough = self.incident.input_gone_after
            self.wait_for(lambda account: account["counts"]["completed"] >= enough)
            gone = self._input.rename(self.layout.folder / "moved")
            if self.incident.input_comes_back:
                log = self.layout.logs / f"flink-lab-{JOBMANAGER_LOG}.log"
                while "Failed to enumerate files" not in log.read_text():
                    time.sleep(0.5)
                gone.rename(self._input)
        if self.incident.storage_gone_after is not None:
            enough = self.incident.storage_gone_after
            self.wait_for(lambda account: account["counts"]["completed"] >= enough)
            directory = self.checkpoint_dir / self.job_id
            directory.rename(self.layout.folder / "gone")
            directory.touch()
        if self.incident.begun_afresh_after is not None:
            enough = self.incident.begun_afresh_after
            self.wait_for(lambda account: account["counts"]["completed"] >= enough)
            self.cancel()
            self.play(self.incident.name)
        if self.incident.rescaled_after is not None:
            seen = self.incident.rescaled_after
            self.wait_for(lambda account: account["counts"]["completed"] >= seen)
            self._rescale(4, 2)
        if self.incident.claimed_after is not None:
            self._lose_files(self.incident.claimed_after, before_loss)
        if self.incident.restored_from is not None:
            self.wait_for(lambda account: account["counts"]["completed"] >= 1)
            with contextlib.suppress(
                OSError
            ):  # Flink refuses the submission, and lists the job as failed.
                self.play(
                    self.incident.name,
                    restore=f"file://{self.checkpoint_dir}/{self.incident.restored_from}",
                )

    def _rescale(self, before: int, after: int) -> None:
        wanted = self.get(f"/jobs/{self.job_id}/resource-requirements")
        for vertex in wanted.values():
            if vertex["parallelism"]["upperBound"] == before:
                vertex["parallelism"]["upperBound"] = after
        call(f"{self.url}/jobs/{self.job_id}/resource-requirements", wanted, method="PUT")

    def _lose_files(self, claimed_after: int, before_loss: Callable[[], None] | None) -> None:
        self.wait_for(lambda account: account["counts"]["completed"] >= claimed_after)
        self.cancel()
        newest = max(
            (self.checkpoint_dir / self.job_id).glob("chk-*/_metadata"),
            key=lambda path: path.stat().st_mtime,
        ).parent
        second = self.play(self.incident.name, restore=f"file://{newest}", claim="CLAIM")
        self.wait_for(lambda account: account["counts"]["completed"] >= 1, job_id=second)
        if before_loss:
            before_loss()
        # As a rule by age does: whatever was written before an instant, of whatever job.
        cut = min(
            path.stat().st_mtime
            for path in (self.checkpoint_dir / self.job_id).glob("chk-*/_metadata")
        )
        for path in [
            path
            for path in self.checkpoint_dir.rglob("*")
            if path.is_file() and path.stat().st_mtime <= cut
        ]:
            path.unlink()
        self.kill_taskmanager(1)
        self.start_taskmanager(1)

    def cancel(self, within_s: float = 60, job_id: str = "") -> None:
        """End a job; what Flink says of it afterwards does not change any more."""
        job_id = job_id or self.job_id
        call(f"{self.url}/jobs/{job_id}?mode=cancel", method="PATCH")
        deadline = time.monotonic() + within_s
        while self.get(f"/jobs/{job_id}")["state"] != "CANCELED":
            if time.monotonic() > deadline:
                raise LabFailed(f"The job did not end in {within_s:.0f} s: see {self.layout.logs}")
            time.sleep(0.2)

    def kill_jobmanager(self) -> None:
        self._kill("jm")

    def start_jobmanager(self) -> None:
        """Also again, after it ended: it goes on with its log."""
        self._start_session("jm", JOBMANAGER_LOG)

    def _start_session(self, name: str, log_name: str) -> None:
        self._java(name, log_name, 448, [JOBMANAGER_CLASS], ["--executionMode", "cluster"])

    @property
    def _input(self) -> Path:
        """What the source watches."""
        return self.layout.folder / "input"

    @property
    def jobmanager_pid(self) -> int:
        return self._processes["jm"].pid

    def kill_taskmanager(self, number: int) -> None:
        self._kill(f"tm{number}")

    def ended(self, name: str, within_s: float = 90) -> None:
        """Wait for a process that ends by itself."""
        self._processes[name].wait(within_s)

    def start_taskmanager(self, number: int) -> None:
        """Again, after it was killed."""
        host, _address = self.layout.taskmanager_host(number)
        limits = ["-XX:MaxDirectMemorySize=128m", "-XX:MaxMetaspaceSize=128m"]
        self._java(
            f"tm{number}",
            f"taskexecutor-{number - 1}-{host}",
            self.incident.taskmanager_heap_mb,
            [*limits, TASKMANAGER_CLASS],
            [],
        )

    def stop(self) -> None:
        for process in self._processes.values():
            process.terminate()
        for process in self._processes.values():
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(10)
        for link in self._links:
            link.close()
        self._guard.communicate()
        for process in self._processes.values():
            process.wait()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_failure: object) -> None:
        self.stop()

    def start_processes(self) -> None:
        if self.incident.reads_kafka:
            self._start_broker()
        if self.incident.reads_files:
            self._input.mkdir()
            (self._input / "numbers.txt").write_text("\n".join(map(str, range(1000))))
        if self.incident.store_fault is not None:
            self._links.append(
                FailingStore(self.layout.database, self.incident.store_fault, 90, 60)
            )
        self.start_jobmanager()
        if self.incident.database_resets_every_s is not None:
            every_s = self.incident.database_resets_every_s
            self._links.append(ResettingDatabase(self.layout.database, every_s))
        if self.incident.jar_bytes_per_s is not None:
            for port, bytes_per_s in (
                (self.layout.rpc_port, _UNLIMITED),
                (self.layout.blob_port, self.incident.jar_bytes_per_s),
            ):
                self._links.append(
                    SlowLink(
                        (self.layout.jobmanager_seen_by_first, port),
                        ("127.0.0.1", port),
                        bytes_per_s,
                    )
                )
        for number in range(1, self.taskmanagers + 1):
            if self.incident.network_bytes_per_s is not None:
                _host, address = self.layout.taskmanager_host(number)
                announced, listening = self.layout.data_ports(number)
                self._links.append(
                    SlowLink(
                        (address, announced),
                        (address, listening),
                        self.incident.network_bytes_per_s,
                    )
                )
            self.start_taskmanager(number)

    def _start_broker(self) -> None:
        listener = f"tcp://{self.layout.kafka}"
        addresses = ("--listener-url", listener, "--advertised-listener-url", listener)
        self._spawn("broker", [str(broker()), "broker", *addresses])
        jars = (f"{kafka_jars()}/*", f"{flink_jars(self.release)}/*", self._job_jar())
        class_path = ":".join(map(str, jars))
        arguments = self._program_arguments(self.incident.arguments)
        self._spawn("feeder", ["java", "-Xmx96m", "-cp", class_path, "lab.KafkaLog", *arguments])

    def _spawn(self, name: str, command: list[str]) -> None:
        with (self.layout.logs / f"{name}.out").open("ab") as output:
            self._processes[name] = subprocess.Popen(
                command,
                env={**os.environ, VARIABLE: self._mark},
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )

    def _program_arguments(self, arguments: Mapping[str, str]) -> list[str]:
        places = {
            "switch": self.switch,
            "folder": self.layout.folder,
            "kafka": self.layout.kafka,
        }
        return [f"{name}={value.format(**places)}" for name, value in arguments.items()]

    def _job_jar(self) -> Path:
        incident = self.incident
        return job_jar(
            self.release, reads_kafka=incident.reads_kafka, reads_files=incident.reads_files
        )

    def wait_up(self) -> None:
        deadline = time.monotonic() + UP_WITHIN_S
        while (call_or_none(f"{self.url}/overview") or {}).get(
            "taskmanagers", -1
        ) < self.taskmanagers:
            dead = [name for name, process in self._processes.items() if process.poll() is not None]
            if dead or time.monotonic() > deadline:
                raise LabFailed(
                    f"Flink {self.release.version} did not come up "
                    f"({', '.join(dead) or 'too slow'}): see {self.layout.logs}"
                )
            time.sleep(0.3)

    def submit(self) -> None:
        self.job_id = self.play(self.incident.name)

    def play(
        self, incident: str, restore: str = "", claim: str = "NO_CLAIM", **changed: str
    ) -> str:
        """Submit the job of an incident, beside those that run; returns its id.

        ``restore`` is the checkpoint or savepoint it starts from, ``claim`` how it takes that over:
        NO_CLAIM, CLAIM, LEGACY. ``changed`` are arguments that differ from those of the incident,
        its ``name`` among them.
        """
        jar = upload_jar(self.url, self._job_jar())
        arguments = {"name": f"lab-{incident}", **INCIDENTS[incident].arguments, **changed}
        asked = {
            "entryClass": ENTRY_CLASS,
            "programArgsList": self._program_arguments(arguments),
        } | ({"savepointPath": restore} if restore else {})
        if restore and self.release.has_claim_modes:
            asked[self.release.claim_field] = claim
        return self._run(f"/jars/{jar}/run", asked, arguments["name"])

    def _run(self, path: str, asked: dict[str, Any], name: str) -> str:
        """Where RPCs time out, Flink may answer that it failed although the job runs."""
        before = self._jobs(name)
        for _attempt in range(SUBMISSIONS):
            try:
                return str(call(self.url + path, asked, "POST", timeout_s=60)["jobid"])
            except urllib.error.HTTPError as error:
                if "AskTimeoutException" not in error.read().decode(errors="replace"):
                    raise
            time.sleep(1)
            if made := self._jobs(name) - before:
                return min(made)
        raise LabFailed(
            f"{name} could not be submitted in {SUBMISSIONS} attempts: see {self.layout.logs}"
        )

    def _jobs(self, name: str) -> set[str]:
        jobs = (call_or_none(f"{self.url}/jobs/overview") or {}).get("jobs") or ()
        return {str(job["jid"]) for job in jobs if job["name"] == name}

    def _java(
        self,
        name: str,
        log_name: str,
        heap_mb: int,
        options_and_class: list[str],
        arguments: list[str],
    ) -> None:
        configuration = self.layout.configuration(name)
        log = self.layout.logs / f"flink-lab-{log_name}.log"
        command = [
            *("java", f"-Xmx{heap_mb}m", "-XX:+UseSerialGC", *MODULE_OPTIONS),
            *(
                f"-Djdk.net.hosts.file={self.layout.hosts('jm' if name.startswith('jm') else name)}",
                "-Djava.net.preferIPv4Stack=true",
                f"-Dlog.file={log}",
            ),
            f"-Dlog4j.configurationFile=file:{configuration}/log4j.properties",
            *("-cp", self._class_path(), *options_and_class),
            *("--configDir", str(configuration), *arguments),
        ]
        variables = {
            **os.environ,
            VARIABLE: self._mark,
            "FLINK_CONF_DIR": str(configuration),
            "HADOOP_CONF_DIR": str(self.layout.calls),
            "MALLOC_ARENA_MAX": "1",
        }
        with self._output(name, log) as output:
            self._processes[name] = subprocess.Popen(
                command,
                env=variables,
                cwd=self.layout.folder,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )

    def _output(self, name: str, log: Path) -> BinaryIO:
        """Where a process prints to; closed here once it was started."""
        if self.incident.prints_json:
            return piped(pod_log(self.layout.pods, f"{self.layout.folder.name}-{name}"))
        return log.with_suffix(".out").open("ab")

    def _class_path(self) -> str:
        is_on_s3 = self.incident.store_fault is not None
        hadoop = HADOOP_JARS if self.incident.counts_calls or is_on_s3 else ()
        hadoop += tuple(s3_jars().iterdir()) if is_on_s3 else ()
        reporters = [f"{reporter_jars(self.release, kind)}/*" for kind in self.incident.reporters]
        kafka = (f"{kafka_jars()}/*",) if self.incident.reads_kafka else ()
        files = (f"{files_jars(self.release)}/*",) if self.incident.reads_files else ()
        return ":".join(
            (
                f"{flink_jars(self.release)}/*",
                *reporters,
                *kafka,
                *files,
                str(self._job_jar()),
                *map(str, hadoop),
            )
        )

    def _kill(self, name: str) -> None:
        process = self._processes[name]
        process.send_signal(signal.SIGKILL)
        process.wait()


def start(
    version: str = DEFAULT_VERSION,
    incident: str = "healthy",
    slot: int = 0,
    folder: Path | None = None,
) -> Lab:
    """A cluster that is up and whose job is submitted. Raises :class:`LabFailed`.

    ``folder`` takes its logs and state (default: a fresh one in the lab's cache).
    """
    folder = folder or lab_home() / "run" / f"{version}-{incident}-{slot}"
    shutil.rmtree(folder, ignore_errors=True)
    return started(Lab(version, incident, slot, folder))


def started(lab: Lab) -> Lab:
    """This lab, up and with its job. Raises :class:`LabFailed`."""
    try:
        if listens("127.0.0.1", lab.layout.rest_port):
            raise LabFailed(
                f"Something already listens on {lab.url}: stop it, or choose another slot."
            )
        write_configuration(lab.layout, lab.release, lab.incident)
        lab.start_processes()
        lab.wait_up()
        lab.submit()
    except BaseException:
        lab.stop()
        raise
    return lab
