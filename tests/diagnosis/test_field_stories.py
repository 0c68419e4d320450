"""What people report of failing jobs, told as their JobManager logged it: each story with the rule,
the code of its cause and the advice that must not come. Sources:
``tests/fixtures/field/README.md``.
"""

import json
import re
from dataclasses import replace

import pytest

from spark_jobs.diagnosis.failure_causes.table import cause_by_code
from tests.told_logs import BEGUN, COORDINATOR, ENTRYPOINT, JOB, MASTER, NAME, Story, found_in

CHECKPOINTS = "org.apache.flink.runtime.checkpoint.Checkpoints"
NO_SLOTS = (
    "java.util.concurrent.CompletionException: java.util.concurrent.CompletionException: "
    "org.apache.flink.runtime.jobmanager.scheduler.NoResourceAvailableException: Slot request bulk "
    "is not fulfillable! Could not allocate the required slot within slot request timeout\n"
    "\tat java.util.concurrent.CompletableFuture.encodeThrowable(CompletableFuture.java:292)\n"
)
OWN = (
    "java.lang.IllegalStateException: order 17 has no customer\n"
    "\tat com.example.Enrich.map(Enrich.java:7)\n"
)
AGAIN = "start from that checkpoint"


def newest(story, rule):
    """The last finding of one rule."""
    of_rule = [one for one in found_in(story) if one["rule"] == rule]
    assert of_rule, f"{rule} did not fire"
    return of_rule[-1]


def lost_in_turn(reason, trace="", times=3, every=120):
    """One TaskManager after the other goes, and the job runs in between."""
    story = Story().submitted().deployed(1)
    for number in range(times):
        at, name = 60 + every * number, f"tm-{number + 1}"
        first = reason.replace("{name}", name)
        story.lost(at, name, first)
        story.failed(at + 0.2, trace or f"java.lang.Exception: {first}\n", taskmanager=name)
        story.restarts(at + 0.3).deployed(at + 5, f"tm-{number + 2}")
        story.checkpoint(at + 20, number + 1)
    return story


@pytest.mark.parametrize(
    ("reason", "code"),
    [
        pytest.param(
            "Container [pid=4711,containerID={name}] is running beyond the 'PHYSICAL' memory "
            "limit. "
            "Current usage: 4.1 GB of 4 GB physical memory used; 6.0 GB of 8.4 GB virtual memory "
            "used. Killing container.",
            "CONTAINER_OUT_OF_MEMORY",
            id="YARN, physical memory",
        ),
        pytest.param(
            "Container [pid=4711,containerID={name}] is running beyond physical memory limits. "
            "Current usage: 2.0 GB of 2 GB physical memory used. Killing container.",
            "CONTAINER_OUT_OF_MEMORY",
            id="YARN before 3.0",
        ),
        pytest.param(
            "Container {name} marked as failed.\n Exit code:137. Container killed on request. Exit "
            "code is 137\n[2026-11-20 08:01:00.123]Killed by external signal",
            "CONTAINER_KILLED",
            id="YARN, below the first line",
        ),
        pytest.param(
            "Container {name} was preempted by yarn.", "POD_EVICTED", id="YARN, preempted"
        ),
        pytest.param(
            "Container {name} killed by YARN, either due to being released by the application or "
            "being 'lost' due to node failures etc.",
            "NODE_LOST",
            id="YARN, node lost",
        ),
        pytest.param(
            "Pod terminated, container termination statuses: [], pod status: "
            "Failed(reason=Evicted, "
            "message=The node was low on resource: ephemeral-storage. Container "
            "flink-main-container was using 5Gi, which exceeds its request of 0.)",
            "POD_EVICTED",
            id="Kubernetes, evicted",
        ),
        pytest.param(
            "Pod terminated, container termination statuses: [flink-main-container(exitCode=239, "
            "reason=Error, message=null)], pod status: Failed(reason=null, message=null)",
            "CONTAINER_EXITED",
            id="Kubernetes, uncaught exception",
        ),
        pytest.param(
            "The TaskExecutor is shutting down.", "TASKMANAGER_STOPPED", id="scaled down in order"
        ),
    ],
)
def test_why_taskmanagers_were_lost_is_said_and_advised(reason, code):
    loop = newest(lost_in_turn(reason), "restart.loop")
    assert loop["severity"] == "critical"
    assert loop["data"]["causes"] == {code: 3}
    assert loop["data"]["lost_taskmanagers"] == ["tm-1", "tm-2", "tm-3"]
    assert str(cause_by_code(code).next_step) in str(loop["next_step"])


def test_a_container_of_yarn_is_one_with_its_node_behind_it():
    name = "container_e07_1_01_00000{}"
    story = Story().submitted().deployed(1, name.format(1))
    for number in range(1, 4):
        at, lost = 120 * number, name.format(number)
        story.lost(
            at,
            f"{lost}(node-{number}.example:8041)",
            f"Container {lost} marked as failed.\n Exit code:-104.\n Diagnostics:[x]Container "
            "killed on request. Exit code is 143",
        )
        story.failed(
            at + 0.2,
            "org.apache.flink.runtime.io.network.netty.exception.RemoteTransportException: "
            "Connection unexpectedly closed by remote task manager 'node-1/10.0.0.1:4077 [ "
            f"{lost}(node-{number}.example:8041) ] '. This might indicate that the remote task "
            "manager was lost.\n",
            taskmanager=lost,
        )
        story.restarts(at + 0.3).deployed(at + 5, name.format(number + 1))
        story.checkpoint(at + 20, number)
    loop = newest(story, "restart.loop")
    assert loop["data"]["causes"] == {"CONTAINER_OUT_OF_MEMORY": 3}
    assert loop["data"]["lost_taskmanagers"] == [name.format(number) for number in (1, 2, 3)]


def test_a_heartbeat_that_times_out_first_does_not_hide_why():
    story = lost_in_turn(
        "Pod terminated, container termination statuses: [flink-main-container(exitCode=137, "
        "reason=OOMKilled, message=null)], pod status: Failed(reason=null, message=null)",
        "java.util.concurrent.TimeoutException: Heartbeat of TaskManager with id {name} timed "
        "out.\n",
    )
    for number in range(3):
        story.say(
            60 + 120 * number - 1,
            f"Heartbeat of TaskManager with id tm-{number + 1}(host:6122) timed out.",
        )
    assert newest(story, "restart.loop")["data"]["causes"] == {"CONTAINER_OUT_OF_MEMORY": 3}


@pytest.mark.parametrize(
    ("line", "code"),
    [
        pytest.param(
            "FATAL: Thread 'Flink Netty Server (0) Thread 1' produced an uncaught exception. "
            "Stopping the process...\njava.lang.OutOfMemoryError: Direct buffer memory",
            "DIRECT_MEMORY_FULL",
            id="a thread",
        ),
        pytest.param(
            "Encountered fatal error java.lang.OutOfMemoryError - terminating the JVM\n"
            "java.lang.OutOfMemoryError: Java heap space",
            "HEAP_FULL",
            id="jvm-exit-on-oom",
        ),
    ],
)
def test_the_log_of_a_lost_taskmanager_says_why(line, code):
    story = lost_in_turn(
        "The heartbeat timed out.",
        "java.util.concurrent.TimeoutException: Heartbeat of TaskManager with id {name} timed "
        "out.\n",
    )
    for number in range(3):
        story.say(10 + 120 * number, line, level="ERROR", process=f"tm-{number + 1}")
    assert newest(story, "restart.loop")["data"]["causes"] == {code: 3}


def test_a_failure_of_a_coordinator_is_read_from_the_line_of_the_global_restart():
    story = Story().submitted().deployed(1)
    for at in (60, 200, 340):
        story.say(
            at,
            "Trying to recover from a global failure.\norg.apache.flink.util.FlinkException: Global "
            "failure triggered by OperatorCoordinator for 'Source: orders' (operator cbc3).\n"
            "Caused by: java.lang.RuntimeException: Failed to get metadata for topics [orders].\n"
            "Caused by: org.apache.kafka.common.errors.UnknownTopicOrPartitionException: This "
            "server does not host this topic-partition.",
        )
        story.restarts(at + 0.1).deployed(at + 3).checkpoint(at + 60, at)
    assert newest(story, "restart.loop")["data"]["causes"] == {"TOPIC_MISSING": 3}


def test_an_idle_taskmanager_that_is_released_is_no_loss():
    story = Story().submitted().deployed(1)
    for number in range(4):
        story.lost(60 + 60 * number, "tm-1", "TaskExecutor exceeded the idle timeout.")
    assert not found_in(story.checkpoint(400, 1))


@pytest.mark.parametrize("back_off", [5, 60, 180, 420])
def test_a_loop_is_open_to_its_end_whatever_the_back_off(back_off):
    """The strategy waits, the tasks run for three seconds, and fail."""
    story, at = Story().submitted().deployed(1), 4.0
    for _ in range(8):
        story.failed(at, OWN).restarts(at + 0.1, back_off)
        story.deployed(at + back_off + 0.2)
        at += back_off + 4
    story.failed(at, OWN).state(at + 0.1, "RUNNING", "RESTARTING")
    loops = [one for one in found_in(story) if one["rule"] == "restart.loop"]
    assert {one["severity"] for one in loops} == {"critical"}
    ends = max(story.lines)[0]
    assert (loops[-1]["as_of"] - BEGUN).total_seconds() >= ends - 60
    assert (loops[0]["as_of"] - BEGUN).total_seconds() <= 60 * (1 + (3 * back_off + 12) // 60)
    assert loops[-1]["data"]["episodes"][-1]["restarts"] >= 1
    assert "com.example.Enrich.map(Enrich.java:7)" in str(loops[-1]["title"])


def test_a_job_that_runs_undisturbed_after_two_failures_has_no_loop():
    story = Story().submitted().deployed(1)
    for at in (100, 800):
        story.failed(at, OWN).restarts(at + 0.1, 60).deployed(at + 60.2).checkpoint(at + 100, at)
    assert "restart.loop" not in {one["rule"] for one in found_in(story.checkpoint(1500, 1500))}


def test_a_back_off_of_minutes_is_not_taken_for_running():
    """Only state lines: the log of the tasks is not read."""
    story = Story().submitted()
    for at in (10, 130, 250, 370):
        story.failed(at, OWN).restarts(at + 0.1, 119)
    story.failed(490, OWN).state(490.1, "RUNNING", "RESTARTING")
    story.say(540, "Freeing slot.", level="WARN")
    assert newest(story, "restart.loop")["severity"] == "critical"


@pytest.mark.parametrize("wait", [45, 301])
def test_slots_that_never_come_are_a_loop_of_their_own_cause(wait):
    story = Story().submitted()
    story.say(
        1,
        f"Received resource requirements from job {JOB}: [ResourceRequirement{{resourceProfile="
        "ResourceProfile{UNKNOWN}, numberOfRequiredSlots=40}]",
    )
    at = 1.0
    for _ in range(8):
        at += wait
        story.say(
            at - 0.1, f"Could not fulfill resource requirements of job {JOB}.", level="WARN"
        ).failed(at, NO_SLOTS, "SCHEDULED").restarts(at + 0.1)
    loop = newest(story, "restart.loop")
    assert loop["data"]["causes"] == {"NO_RESOURCE_AVAILABLE": 1}
    assert [
        one["value"] for one in loop["evidence"] if one["name"] == "slots that the job needs"
    ] == [40]


def slots_missing_after_a_loss():
    """28 restarts a minute for eight minutes: more than a window remembers."""
    story = Story().submitted().deployed(1).checkpoint(30, 1)
    story.say(100, "Heartbeat of TaskManager with id tm-1(host-1:6122) timed out.")
    story.failed(
        100.1,
        "java.util.concurrent.TimeoutException: Heartbeat of TaskManager with id tm-1(host-1:6122) "
        "timed out.\n",
    ).restarts(100.2)
    at = 102.0
    while at < 100 + 480:
        story.failed(at, NO_SLOTS, "SCHEDULED").restarts(at + 0.01, 0.5)
        at += 60 / 28
    return story


def test_a_job_that_restarts_28_times_a_minute_for_want_of_slots_keeps_its_first_fault():
    story = slots_missing_after_a_loss()
    loop = newest(story, "restart.loop")
    assert loop["data"]["causes"] == {"NO_RESOURCE_AVAILABLE": 1}
    assert loop["data"]["first_fault"]["group"] == "TaskManager lost"
    [episode] = loop["data"]["episodes"]
    assert episode["restarts"] > 200
    assert "tm-1" in str(loop["cause"])
    opened = next(one for one in found_in(story) if one["rule"] == "restart.loop")
    assert opened["window_start"].minute <= 7


KILLED = (
    "Pod terminated, container termination statuses: [flink-main-container(exitCode=1, "
    "reason=Error, "
    "message=null)], pod status: Failed(reason=null, message=null)"
)


def workers_die(line=f"Worker {{name}} is terminated. Diagnostics: {KILLED}"):
    story = Story().submitted()
    for number in range(4):
        story.say(20 + 40 * number, line.replace("{name}", f"tm-1-{number}"), level="WARN")
    return story


@pytest.mark.parametrize(
    ("line", "code"),
    [
        pytest.param(
            f"Worker {{name}} is terminated. Diagnostics: {KILLED}",
            "CONTAINER_EXITED",
            id="exit code",
        ),
        pytest.param(
            "Worker {name} did not register in PT5M, will stop it and request a new one if needed.",
            "REGISTRATION_FAILED",
            id="registration",
        ),
        pytest.param(
            "Failed requesting worker with resource spec WorkerResourceSpec {cpuCores=1.0}, "
            "current "
            "pending count: 0\njava.util.concurrent.CompletionException: "
            "io.fabric8.kubernetes.client."
            "KubernetesClientException: pods is forbidden: Message: Forbidden! 403 Forbidden",
            "CLUSTER_REFUSES",
            id="request refused",
        ),
        pytest.param(
            "Worker {name} is terminated. Diagnostics: Pod terminated, container termination "
            "statuses: [], pod status: Failed(reason=OutOfcpu, message=Pod was rejected: Node "
            "didn't have enough resource: cpu, requested: 4000, used: 6000, capacity: 8000)",
            "CLUSTER_REFUSES",
            id="no room on the node",
        ),
        pytest.param(
            "Worker {name} is terminated. Diagnostics: Container {name} marked as failed.\n Exit "
            "code:1.\n Diagnostics:Exception from container-launch.\nExit code: 1",
            "CONTAINER_EXITED",
            id="YARN cannot launch it",
        ),
        pytest.param(
            "Terminating TaskManagerRunner with exit code 1.\norg.apache.flink.util."
            "FlinkException: Failed to start the TaskManagerRunner.\n\tat a.B.c(B.java:1)\n"
            "Caused by: org.apache.flink.configuration.IllegalConfigurationException: The required "
            "configuration option Key: 'taskmanager.cpu.cores' is not set",
            "CONFIGURATION_INVALID",
            id="standalone, by their own logs",
        ),
        pytest.param(
            "TaskManager initialization failed.\njava.io.IOException: Could not create FileSystem "
            "for highly available storage path\nCaused by: java.net.BindException: Address already "
            "in use",
            "PORT_IN_USE",
            id="standalone, before 1.12",
        ),
    ],
)
def test_taskmanagers_that_die_before_any_task_runs_are_told_before_the_job_fails(line, code):
    lost = newest(workers_die(line), "start.workers_lost")
    assert (lost["severity"], lost["data"]["cause"]) == ("critical", code)


def test_taskmanagers_that_ran_tasks_or_were_released_are_none_of_these():
    story = lost_in_turn(KILLED)
    for number in range(3):
        story.say(60 + 120 * number, f"Worker tm-{number + 1} is terminated. Diagnostics: {KILLED}")
        story.say(
            70 + 120 * number, f"Worker tm-9{number} is terminated. Diagnostics: Pod is deleted"
        )
    assert "start.workers_lost" not in {one["rule"] for one in found_in(story)}


def restored(story, at=0.5, path="s3://b/sp/savepoint-9f0b1c"):
    return story.say(
        at,
        f"Restoring job {JOB} from Savepoint 40 @ 1795000000000 for {JOB} located at {path}.",
        COORDINATOR,
    )


@pytest.mark.parametrize(
    ("cause", "code"),
    [
        pytest.param(
            "org.apache.flink.util.StateMigrationException: For heap backends, the new state "
            "serializer (org.apache.flink.api.common.typeutils.base.LongSerializer@1) must not be "
            "incompatible with the old state serializer "
            "(org.apache.flink.api.common.typeutils.base."
            "StringSerializer@2).",
            "STATE_INCOMPATIBLE",
            id="serializer, heap backend",
        ),
        pytest.param(
            "com.esotericsoftware.kryo.KryoException: Unable to find class: com.example.OldOrder",
            "KRYO",
            id="a class that Kryo wrote is gone",
        ),
        pytest.param(
            "java.io.FileNotFoundException: re-open s3a://b/ck/shared/4d1c at 0 on "
            "s3a://b/ck/shared"
            "/4d1c: com.amazonaws.services.s3.model.AmazonS3Exception: The specified key does not "
            "exist. (Service: Amazon S3; Status Code: 404; Error Code: NoSuchKey)",
            "SNAPSHOT_GONE",
            id="a file is gone",
        ),
        pytest.param(
            "com.amazonaws.services.s3.model.AmazonS3Exception: Forbidden (Service: Amazon S3; "
            "Status Code: 403; Error Code: 403 Forbidden)",
            "STORE_REFUSED",
            id="the store refuses access",
        ),
        pytest.param(
            "com.amazonaws.SdkClientException: Unable to execute HTTP request: Timeout waiting for "
            "connection from pool",
            "STORE_POOL_EXHAUSTED",
            id="no free connection",
        ),
        pytest.param(
            'Operation failed: "The specified path does not exist.", 404, HEAD, '
            "https://acc.dfs.core.windows.net/c/flink/shared/4d1c?upn=false&timeout=90",
            "SNAPSHOT_GONE",
            id="a file is gone from Azure's data lake",
        ),
        pytest.param(
            "java.io.FileNotFoundException: File not found: s3://b/ck/shared/4d1c",
            "SNAPSHOT_GONE",
            id="a file is gone, Flink's own S3 file system",
        ),
    ],
)
def test_a_restore_that_fails_again_and_again_is_never_advised_again(cause, code):
    trace = (
        "java.lang.Exception: Exception while creating StreamOperatorStateContext.\n"
        "\tat org.apache.flink.streaming.api.operators.StreamTaskStateInitializerImpl."
        "streamOperatorStateContext(StreamTaskStateInitializerImpl.java:330)\n"
        "Caused by: org.apache.flink.util.FlinkException: Could not restore keyed state backend "
        "for "
        "Enrich from any of the 1 provided restore options.\n"
        "\tat org.apache.flink.streaming.api.operators.BackendRestorerProcedure."
        "createAndRestore(BackendRestorerProcedure.java:160)\n"
        f"Caused by: {cause}\n\tat a.b.C.d(C.java:1)\n"
    )
    story = restored(Story().submitted())
    for at in (10, 75, 140, 205):
        story.deployed(at, runs=False).failed(at + 4, trace, "INITIALIZING")
        story.restarts(at + 4.1, 60)
    loop = newest(story, "restart.loop")
    assert loop["data"]["causes"] == {code: 1}
    assert AGAIN not in str(loop["next_step"])


@pytest.mark.parametrize(
    ("cause", "code"),
    [
        pytest.param(
            "io.debezium.DebeziumException: The connector is trying to read binlog starting at "
            "SourceInfo [currentBinlogFilename=mysql-bin.003008], but this is no longer available "
            "on the server. Reconfigure the connector to use a snapshot when needed.",
            "SOURCE_POSITION_GONE",
            id="the source does not keep the position",
        ),
        pytest.param(
            "java.io.FileNotFoundException: No such file or directory: s3://out/_part-2-12_tmp_5f0c"
            "\n\tat org.apache.flink.fs.s3.common.writer.S3RecoverableMultipartUploadFactory."
            "recoverInProgressPart(S3RecoverableMultipartUploadFactory.java:97)",
            "SINK_PART_GONE",
            id="the file sink's part is gone",
        ),
        pytest.param(
            "org.apache.iceberg.exceptions.NotFoundException: Failed to open input stream for "
            "file: s3://lake/t/metadata/00001.avro",
            "TABLE_FILE_GONE",
            id="the table's file is gone",
        ),
    ],
)
def test_what_a_restore_cannot_go_on_with_is_no_missing_file_of_the_checkpoint(cause, code):
    trace = (
        "java.lang.RuntimeException: One or more fetchers have encountered exception\n"
        "\tat org.apache.flink.connector.base.source.reader.fetcher.SplitFetcherManager."
        f"checkErrors(X.java:225)\nCaused by: {cause}\n"
    )
    story = restored(Story().submitted())
    for at in (10, 75, 140, 205):
        story.deployed(at).failed(at + 4, trace).restarts(at + 4.1, 60)
    loop = newest(story, "restart.loop")
    assert list(loop["data"]["causes"]) == [code]
    assert str(cause_by_code(code).next_step) in str(loop["next_step"])
    assert AGAIN not in str(loop["next_step"])
    assert "restore.missing_file" not in {one["rule"] for one in found_in(story)}


SUPPRESSED = (
    "org.apache.flink.runtime.JobException: Recovery is suppressed by {strategy}\n"
    "\tat org.apache.flink.runtime.executiongraph.failover.flip1.ExecutionFailureHandler."
    "handleFailure(ExecutionFailureHandler.java:138)\nCaused by: "
)


@pytest.mark.parametrize(
    ("strategy", "ended_by"),
    [
        ("NoRestartBackoffTimeStrategy", "NO_RESTART_STRATEGY"),
        (
            "FixedDelayRestartBackoffTimeStrategy(maxNumberRestartAttempts=3, backoffTimeMS=10000)",
            "RESTARTS_EXHAUSTED",
        ),
        (
            "FailureRateRestartBackoffTimeStrategy(FailureRateRestartBackoffTimeStrategy("
            "failuresIntervalMS=300000,backoffTimeMS=10000,maxFailuresPerInterval=3)",
            "RESTARTS_EXHAUSTED",
        ),
    ],
)
def test_a_job_that_ended_says_what_ended_it_and_from_where_to_start(strategy, ended_by):
    trace = SUPPRESSED.replace("{strategy}", strategy) + OWN
    story = restored(Story().submitted()).deployed(1).failed(100, OWN).ended(100.1, trace)
    ended = newest(story, "job.failed")
    assert (ended["severity"], ended["data"]["ended_by"]) == ("critical", ended_by)
    assert ended["data"]["frame"] == "com.example.Enrich.map(Enrich.java:7)"
    assert ended["data"]["snapshot_path"] == "s3://b/sp/savepoint-9f0b1c"
    assert ages(ended) == [100_000 + BEGUN.timestamp() * 1000 - 1_795_000_000_000]


def ages(ended):
    """Of the newest usable snapshot, in ms."""
    name = "age of that snapshot at the job's end"
    return [one["value"] for one in ended["evidence"] if str(one["name"]) == name]


@pytest.mark.parametrize(
    "trace",
    [
        pytest.param(
            "org.apache.flink.runtime.JobException: The failure is not recoverable\n\tat org.apache."
            "flink.runtime.executiongraph.failover.ExecutionFailureHandler.handleFailure(X.java:176)"
            f"\nCaused by: {OWN}",
            id="ExecutionFailureHandler",
        ),
        pytest.param(
            "org.apache.flink.runtime.execution.SuppressRestartsException: Unrecoverable failure. "
            f"This suppresses job restarts.\n\tat a.B.c(B.java:1)\nCaused by: {OWN}",
            id="SuppressRestartsException",
        ),
    ],
)
def test_a_failure_that_flink_never_restarts_is_named_as_what_ended_the_job(trace):
    story = Story().submitted().deployed(1).checkpoint(30, 1).failed(100, trace).ended(100.1, trace)
    ended = newest(story, "job.failed")
    assert (ended["data"]["ended_by"], ended["data"]["frame"]) == (
        "NOT_RECOVERABLE",
        "com.example.Enrich.map(Enrich.java:7)",
    )
    # Only the log was read, which does not name where the checkpoint is.
    assert ended["data"]["snapshot_path"] is None and not ages(ended)


@pytest.mark.parametrize(
    ("cause", "code"),
    [
        (
            "java.lang.IllegalStateException: The state for task cbc357ccb763df2852fee8c4fc7d55f2 "
            "can "
            "not be restored. The maximum parallelism (128) of the restored state is lower than "
            "the "
            "configured parallelism (130). Please reduce the parallelism of the task to be lower "
            "or "
            "equal to the maximum parallelism.",
            "MAX_PARALLELISM",
        ),
        (
            "java.lang.IllegalStateException: Failed to rollback to checkpoint/savepoint s3://b/sp/"
            "savepoint-9f0b1c. Max parallelism mismatch between checkpoint/savepoint state and new "
            "program. Cannot map operator cbc357 with max parallelism 128 to new program with max "
            "parallelism 256.",
            "MAX_PARALLELISM",
        ),
        (
            "java.lang.IllegalStateException: There is no operator for the state "
            "e30ccce83304773b609843a7d9d3e8d7",
            "STATE_OF_REMOVED_OPERATOR",
        ),
        (
            "java.lang.IllegalStateException: Cannot get old subtasks from a descriptor that "
            "represents no state.",
            "TOPOLOGY_CHANGED",
        ),
    ],
)
def test_a_job_that_cannot_be_started_from_its_snapshot_is_not_sent_back_to_it(cause, code):
    trace = (
        "org.apache.flink.runtime.client.JobInitializationException: Could not start the "
        "JobMaster.\n"
        "\tat org.apache.flink.runtime.jobmaster.DefaultJobMasterServiceProcess.lambda$new$0(X.java"
        f":97)\nCaused by: {cause}\n\tat "
        f"org.apache.flink.runtime.checkpoint.Checkpoints.a(X.java:1)\n"
    )
    story = Story().say(0, f"Received JobGraph submission '{NAME}' ({JOB}).")
    story.say(
        0.5, f"Starting job {JOB} from savepoint s3://b/sp/savepoint-9f0b1c ()", COORDINATOR
    ).say(1, f"Job {JOB} reached terminal state FAILED.\n{trace}")
    ended = newest(story, "job.failed")
    assert (ended["data"]["cause"], ended["data"]["ended_by"]) == (code, "NOT_STARTED")
    assert ended["data"]["snapshot_path"] is None
    assert "savepoint-9f0b1c" not in str(ended["next_step"])


def test_a_job_that_was_cancelled_has_not_failed():
    story = Story().submitted().deployed(1).checkpoint(30, 1)
    story.state(60, "RUNNING", "CANCELLING").state(61, "CANCELLING", "CANCELED")
    story.say(61.1, f"Job {JOB} reached terminal state CANCELED.")
    assert not found_in(story)


LOST_TRANSACTIONS = [
    pytest.param(
        "Unable to commit transaction (PulsarCommittable{txnID=(1,2), topic='out'}) because it's "
        "in "
        "an invalid state. Most likely the transaction has been aborted for some reason. Please "
        "check the Pulsar broker logs for more details.\norg.apache.pulsar.client.api."
        "transaction.TransactionCoordinatorClientException$InvalidTxnStatusException: aborted",
        "org.apache.flink.connector.pulsar.sink.committer.PulsarCommitter",
        id="Pulsar",
    ),
    pytest.param(
        "Unable to commit transaction (KafkaCommittable{producerId=12, epoch=3, transactionalId="
        "orders-0-7}) because its producer is already fenced. This means that you either have a "
        "different producer with the same 'transactional.id' (this is unlikely with the "
        "'KafkaSink' "
        "as all generated ids are unique and shouldn't be reused) or recovery took longer than "
        "'transaction.timeout.ms' (900000ms). In both cases this most likely signals data loss, "
        "please consult the Flink documentation for more details.\norg.apache.kafka.common.errors."
        "ProducerFencedException: There is a newer producer with the same transactionalId",
        "org.apache.flink.connector.kafka.sink.KafkaCommitter",
        id="Kafka, fenced",
    ),
    pytest.param(
        "Unable to commit recovered transaction (KafkaTransactionState [transactionalId=out-2]) "
        "because it's in an invalid state. Most likely the transaction has been aborted for some "
        "reason. Please check the Kafka logs for more details.\norg.apache.kafka.common.errors."
        "InvalidTxnStateException: aborted",
        "org.apache.flink.streaming.connectors.kafka.FlinkKafkaProducer",
        id="Kafka's older producer, at a restore",
    ),
    pytest.param(
        "Error while committing transaction KafkaTransactionState [transactionalId=out-2]. "
        "Transaction has been open for longer than the transaction timeout (900000)."
        "Commit will not be attempted again. Data loss might have occurred.",
        "org.apache.flink.streaming.api.functions.sink.TwoPhaseCommitSinkFunction",
        id="two-phase commit before 1.15",
    ),
]


def loses_transactions(line, logger):
    story = Story().submitted().deployed(1)
    for number in range(1, 6):
        story.checkpoint(60 * number, number)
    return story.say(122, line, logger, "ERROR", process="tm-1")


@pytest.mark.parametrize(("line", "logger"), LOST_TRANSACTIONS)
def test_transactions_that_a_sink_lost_are_critical_though_the_job_runs(line, logger):
    lost = newest(loses_transactions(line, logger), "sink.transaction_timeout")
    assert lost["severity"] == "critical"


def fatal(job, cause):
    named = f"JobMaster for job {JOB} failed." if job else "Unhandled error in the leader election."
    return (
        "Fatal error occurred in the cluster entrypoint.\n"
        f"org.apache.flink.util.FlinkException: {named}\n"
        "\tat org.apache.flink.runtime.dispatcher.Dispatcher.jobMasterFailed(Dispatcher.java:913)\n"
        f"Caused by: {cause}\n\tat a.b.C.d(C.java:1)\n"
    )


def crashes(cause):
    story = Story()
    for at in (0, 40, 100, 220):
        story.say(
            at,
            f"JobMasterServiceLeadershipRunner for job {JOB} was granted leadership with leader id "
            "5fdd1a2e-0001-4f1d-9c2e-0f4f1e6b7a99. Creating new JobMasterServiceProcess.",
        ).say(at + 1, fatal(True, cause), ENTRYPOINT, "ERROR")
    return story


@pytest.mark.parametrize(
    ("cause", "code", "path"),
    [
        pytest.param(
            "org.apache.flink.util.FlinkException: Could not retrieve checkpoint 12 from state "
            "handle "
            "under /checkpointID-0000000000000000012. This indicates that the retrieved state "
            "handle "
            "is broken. Try cleaning the state handle store.\n\tat a.b.C.d(C.java:1)\nCaused by: "
            "java."
            "io.FileNotFoundException: No such file or directory: "
            "s3a://b/ha/completedCheckpoint77ab",
            "HA_STORE_BROKEN",
            "s3a://b/ha/completedCheckpoint77ab",
            id="ZooKeeper, S3",
        ),
        pytest.param(
            "org.apache.flink.util.StateMigrationException: The new state serializer (A@1) must "
            "not be "
            "incompatible with the old state serializer (B@2).",
            "STATE_INCOMPATIBLE",
            None,
            id="coordinator state",
        ),
    ],
)
def test_a_jobmanager_that_ends_at_each_start_is_critical_without_any_rest(cause, code, path):
    crash = newest(crashes(cause), "jobmanager.crash_loop")
    assert crash["severity"] == "critical"
    assert (crash["data"]["cause"], crash["data"]["path"]) == (code, path)


def crashes_once_it_ran():
    story = Story().submitted().deployed(1).checkpoint(30, 1)
    cause = (
        "org.apache.zookeeper.KeeperException$ConnectionLossException: KeeperErrorCode = "
        "ConnectionLoss for /flink/default/leader"
    )
    for at in (100, 160, 240):
        story.say(at, fatal(False, cause), ENTRYPOINT, "ERROR")
    return story


def test_fatal_errors_that_name_no_job_are_of_the_only_one_there():
    crash = newest(crashes_once_it_ran(), "jobmanager.crash_loop")
    assert (crash["severity"], crash["data"]["cause"]) == ("critical", "ZOOKEEPER_LOST")


def leads(story, at, leader="5fdd1a2e-0001-4f1d-9c2e-0f4f1e6b7a98"):
    return story.say(
        at,
        f"JobMasterServiceLeadershipRunner for job {JOB} was granted leadership with leader id "
        f"{leader}. Creating new JobMasterServiceProcess.",
    )


def flapping(times):
    """The JobManager loses its leadership, and gets it back."""
    story = Story().submitted().deployed(1).checkpoint(30, 1)
    for number in range(times):
        at = 60 + 120 * number
        story.say(
            at,
            f"JobMasterServiceLeadershipRunner for job {JOB} was revoked leadership with leader id "
            "5fdd1a2e-0001-4f1d-9c2e-0f4f1e6b7a99. Stopping current JobMasterServiceProcess.",
        ).state(at + 0.1, "RUNNING", "SUSPENDED")
        leads(story, at + 1).state(at + 2, "CREATED", "RUNNING")
        story.attempt = 0
        story.deployed(at + 3).checkpoint(at + 60, number + 2)
    return story


def test_a_jobmanager_that_loses_the_lead_again_and_again_is_said_though_the_job_runs():
    flaps = newest(flapping(3), "jobmanager.crash_loop")
    assert (flaps["severity"], flaps["data"]["cause"]) == ("warning", "LEADERSHIP_LOST")
    assert str(cause_by_code("LEADERSHIP_LOST").next_step) in str(flaps["next_step"])


def test_one_change_of_the_leader_is_no_loop():
    assert "jobmanager.crash_loop" not in {one["rule"] for one in found_in(flapping(1))}


def test_one_fatal_error_after_which_the_job_runs_is_no_loop():
    story = Story().submitted().deployed(1).checkpoint(30, 1)
    story.say(100, fatal(True, "java.lang.IllegalStateException: x"), ENTRYPOINT, "ERROR")
    story.submitted(120)
    restored(story, 120.1).deployed(121).checkpoint(180, 2)
    assert not {"jobmanager.crash_loop", "restore.without_state"} & {
        one["rule"] for one in found_in(story)
    }


def taken_over(times, between="", level="ERROR"):
    """JobManagers that take the lead one after the other; of the one before, ``between`` at most
    is logged.
    """
    story = leads(Story().submitted(), 0.3).deployed(1).checkpoint(30, 1)
    for number in range(1, times + 1):
        at = 180 * number
        if between:
            story.say(at - 5, between, level=level)
        leads(restored(story, at + 0.5), at, f"5fdd1a2e-0001-4f1d-9c2e-0f4f1e6b7a{number:02}")
        story.state(at + 1, "CREATED", "RUNNING")
        story.attempt = 0
        story.deployed(at + 2).checkpoint(at + 60, number + 1)
    return story


@pytest.mark.parametrize(
    ("between", "code"),
    [
        pytest.param("", "UNKNOWN", id="OOMKilled: nothing is logged"),
        pytest.param(
            "FATAL: Thread 'flink-pekko.actor.default-dispatcher-4' produced an uncaught exception. "
            "Stopping the process...\njava.lang.OutOfMemoryError: Java heap space",
            "HEAP_FULL",
            id="a thread ended it",
        ),
    ],
)
def test_a_jobmanager_that_is_killed_again_and_again_is_said_though_the_job_runs(between, code):
    killed = newest(taken_over(3, between), "jobmanager.crash_loop")
    assert (killed["severity"], killed["data"]["cause"]) == ("warning", code)
    assert killed["data"]["ends"] == 3
    if not between:
        assert "jobmanager.memory.process.size" in str(killed["next_step"])


@pytest.mark.parametrize(
    "story",
    [
        pytest.param(taken_over(1), id="once"),
        pytest.param(
            taken_over(3, f"Received JobGraph submission '{NAME}' ({JOB}).", "INFO"), id="deployed"
        ),
        pytest.param(
            taken_over(
                3,
                "Shutting KubernetesApplicationClusterEntrypoint down with application status "
                "UNKNOWN. Diagnostics Cluster entrypoint has been closed externally..",
                "INFO",
            ),
            id="stopped in order",
        ),
    ],
)
def test_a_jobmanager_that_is_replaced_in_order_is_in_no_loop(story):
    assert "jobmanager.crash_loop" not in {one["rule"] for one in found_in(story)}


def test_a_job_that_a_session_cluster_cannot_recover_is_named_by_the_trace():
    story = Story()
    for at in (1, 41, 101):
        story.say(
            at,
            "Fatal error occurred in the cluster entrypoint.\norg.apache.flink.util."
            f"FlinkRuntimeException: Could not recover job with job id {JOB}.\n\tat a.B.c(B.java:1)\n"
            "Caused by: org.apache.flink.util.FlinkException: Could not retrieve submitted JobGraph "
            f"from state handle under jobGraph-{JOB}. This indicates that the retrieved state handle "
            "is broken. Try cleaning the state handle store.\n\tat a.B.c(B.java:1)\nCaused by: java."
            "io.FileNotFoundException: /ha/submittedJobGraph2b0f (No such file or directory)",
            ENTRYPOINT,
            "ERROR",
        )
    crash = newest(story, "jobmanager.crash_loop")
    assert (crash["data"]["cause"], crash["data"]["path"]) == (
        "HA_STORE_BROKEN",
        "/ha/submittedJobGraph2b0f",
    )


def begins_without_state():
    story = Story().submitted().deployed(1)
    for number in range(1, 6):
        story.checkpoint(60 * number, number)
    story.submitted(400).deployed(401)
    for number in (1, 2):
        story.checkpoint(400 + 60 * number, number)
    return story


def test_a_start_without_state_though_checkpoints_existed_is_critical():
    fresh = newest(begins_without_state(), "restore.without_state")
    assert (fresh["severity"], fresh["data"]["checkpoint_id"]) == ("critical", 5)


def looking_for_data(times):
    """The enumerator of a source cannot look for new data, and goes on."""
    story = Story().submitted().deployed(1)
    for number in range(8):
        story.checkpoint(30 + 60 * number, number + 1)
    for number in range(times):
        story.say(
            60 + 60 * number,
            "Failed to enumerate files\norg.apache.paimon.table.source.OutOfRangeException: The "
            "snapshot with id 41 has expired. You can: 1. increase the snapshot or changelog "
            "expiration time.",
            "org.apache.paimon.flink.source.ContinuousFileSplitEnumerator",
            "ERROR",
        )
    return story


def test_a_source_that_finds_nothing_new_is_critical_though_the_job_runs():
    unread = newest(looking_for_data(5), "data.unread")
    assert (unread["severity"], unread["data"]["cause"]) == ("critical", "SOURCE_POSITION_GONE")


def test_a_look_for_new_data_that_fails_once_is_no_finding():
    assert not found_in(looking_for_data(1))


def test_operators_whose_state_a_restore_left_out_are_named_though_nothing_fails():
    story = restored(Story().submitted()).deployed(1)
    for number in (1, 2):
        story.say(
            0.4,
            f"Skipping savepoint state for operator {number}e30ccce83304773b609843a7d9d3e8d.",
            CHECKPOINTS,
        ).checkpoint(60 * number, number)
    left_out = newest(story, "restore.without_state")
    assert left_out["severity"] == "warning"
    assert left_out["data"]["operators"] == [
        "1e30ccce83304773b609843a7d9d3e8d",
        "2e30ccce83304773b609843a7d9d3e8d",
    ]


def test_an_operator_without_any_state_that_a_restore_leaves_out_is_no_finding():
    story = restored(Story().submitted()).deployed(1)
    story.say(
        0.4,
        "Skipping empty savepoint state for operator e30ccce83304773b609843a7d9d3e8d7.",
        CHECKPOINTS,
    )
    assert not found_in(story.checkpoint(60, 1).checkpoint(120, 2))


def test_a_throttled_store_that_ends_the_job_is_named():
    cause = (
        "org.apache.flink.util.FlinkRuntimeException: Exceeded checkpoint tolerable failure "
        "threshold. The latest checkpoint failed due to Asynchronous task checkpoint failed.\n"
        "\tat org.apache.flink.runtime.checkpoint.CheckpointFailureManager.a(X.java:1)\n"
        "Caused by: com.amazonaws.services.s3.model.AmazonS3Exception: Please reduce your request "
        "rate. (Service: Amazon S3; Status Code: 503; Error Code: SlowDown)\n"
    )
    story = Story().submitted().deployed(1)
    for at in (60, 200, 340):
        story.failed(at, cause).restarts(at + 0.1).deployed(at + 3).checkpoint(at + 60, at)
    loop = newest(story, "restart.loop")
    assert loop["data"]["causes"] == {"STORE_THROTTLED": 3}


def test_what_no_entry_reads_is_counted_as_unknown():
    story = Story().submitted().deployed(1)
    for at in (60, 200, 340):
        story.failed(at, OWN).restarts(at + 0.1).deployed(at + 3).checkpoint(at + 60, at)
    loop = newest(story, "restart.loop")
    assert loop["data"]["causes"] == {"UNKNOWN": 3}
    assert "not known by its words" in [one["value"] for one in loop["evidence"]]


AKKA = "akka.remote.Remoting"
TOO_LARGE = (
    "Caught exception while executing runnable in main thread.\n"
    "java.io.IOException: The rpc invocation size 14680064 exceeds the maximum pekko framesize.\n"
    "\tat org.apache.flink.runtime.rpc.pekko.PekkoInvocationHandler.createRpcInvocationMessage"
    "(PekkoInvocationHandler.java:306)\n"
)
UNREGISTERED = (
    "Fatal error occurred in TaskExecutor akka.tcp://flink@10.0.0.7:6122/user/rpc/taskmanager_0.\n"
    "org.apache.flink.runtime.taskexecutor.exceptions.RegistrationTimeoutException: Could not "
    "register at the ResourceManager within the specified maximum registration duration PT5M. This "
    "indicates a problem with this instance. Terminating now.\n"
)
FULL_TASKMANAGER = UNREGISTERED.partition("\n")[0] + "\njava.lang.OutOfMemoryError: Metaspace\n"
NO_TOPIC = (
    "Application failed unexpectedly: \n"
    "java.util.concurrent.CompletionException: org.apache.flink.client.program."
    "ProgramInvocationException: The main method caused an error\n"
    "Caused by: java.lang.IllegalArgumentException: no topic\n\tat com.example.Main.main(Main.java:9)\n"
)
KNOWN = (
    f"Ignoring job submission '{NAME}' ({JOB}) because the job already reached a "
    "globally-terminal state (i.e. FAILED, CANCELED, FINISHED) in a previous execution."
)


def running(line="", logger=MASTER, process=""):
    """A job that runs, and a line of one of its processes."""
    story = Story().submitted().deployed(1)
    for number in range(1, 4):
        story.checkpoint(60 * number, number)
    return story.say(150, line, logger, "WARN", process) if line else story


@pytest.mark.parametrize(
    ("story", "severity", "code"),
    [
        pytest.param(running(TOO_LARGE), "warning", "RPC_TOO_LARGE", id="frame size, Pekko"),
        pytest.param(
            running(
                "Error while sending.\nakka.remote.OversizedPayloadException: Discarding oversized "
                "payload sent to Actor[akka.tcp://flink@jm:6123/]: max allowed size 10485760 bytes",
                "akka.remote.EndpointWriter",
                "tm-1",
            ),
            "warning",
            "RPC_TOO_LARGE",
            id="frame size, Akka, a TaskManager",
        ),
        pytest.param(
            running(
                "Association to [akka.tcp://flink@tm:6122] with UID [-1] irrecoverably failed. It "
                "is now quarantined until the system is restarted.",
                AKKA,
            ),
            "warning",
            "ASSOCIATION_QUARANTINED",
            id="quarantined, Akka",
        ),
        pytest.param(
            running(
                "The remote system has quarantined this system. No further associations to the "
                "remote system are possible until this system is restarted.",
                "org.apache.pekko.remote.Remoting",
                "tm-1",
            ),
            "warning",
            "ASSOCIATION_QUARANTINED",
            id="quarantined, Pekko, a TaskManager",
        ),
        pytest.param(
            running(UNREGISTERED, process="tm-9"),
            "warning",
            "REGISTRATION_FAILED",
            id="registration",
        ),
        pytest.param(
            Story().say(0, f"Received JobGraph submission '{NAME}' ({JOB}).").say(5, NO_TOPIC),
            "critical",
            "UNKNOWN",
            id="main() failed",
        ),
        pytest.param(Story().say(0, KNOWN), "critical", "JOB_KNOWN_ALREADY", id="known already"),
    ],
)
def test_an_error_of_the_log_that_ends_nothing_by_itself_reaches_a_finding(story, severity, code):
    error = newest(story, "jobmanager.error")
    assert (error["severity"], error["data"]["cause"]) == (severity, code)
    if code != "UNKNOWN":
        assert error["next_step"] == cause_by_code(code).next_step
        assert str(cause_by_code(code).title) in str(error["title"])
    else:
        assert "java.lang.IllegalArgumentException" in str(error["title"])


@pytest.mark.parametrize(
    "story",
    [
        pytest.param(running(), id="nothing said"),
        pytest.param(running("order 7 is now quarantined"), id="a word of the job's own"),
        pytest.param(running(FULL_TASKMANAGER, process="tm-9"), id="another fatal error"),
        pytest.param(
            Story().say(0, KNOWN).submitted(20).deployed(21).checkpoint(60, 1), id="run afterwards"
        ),
    ],
)
def test_what_is_no_such_error_or_was_run_afterwards_is_no_finding(story):
    assert "jobmanager.error" not in {one["rule"] for one in found_in(story)}


def kubernetes_flapping(times):
    """The lease of the leader's ConfigMap is lost, and taken again; the Dispatcher and the
    ResourceManager share the election with the job from 1.15 on.
    """
    elector = "org.apache.flink.kubernetes.kubeclient.resources.KubernetesLeaderElector"
    story = Story().submitted().deployed(1).checkpoint(30, 1)
    for number in range(times):
        at = 60 + 120 * number
        story.say(at, "New leader elected  for orders-cluster-config-map.", elector)
        story.say(
            at + 0.1,
            "DefaultDispatcherRunner was revoked the leadership with leader id "
            "5fdd1a2e-0001-4f1d-9c2e-0f4f1e6b7a99. Stopping the DispatcherLeaderProcess.",
            "org.apache.flink.runtime.dispatcher.runner.DefaultDispatcherRunner",
        )
        story.say(
            at + 0.1,
            "ResourceManager pekko.tcp://flink@jm:6123/user/rpc/resourcemanager_0 was revoked "
            "leadership. Clearing fencing token.",
        )
        story.say(
            at + 4, "Triggered leader election on lock ConfigMapLock: flink - orders.", elector
        )
    return story


def test_the_lost_lease_of_kubernetes_is_a_lost_leadership():
    flaps = newest(kubernetes_flapping(3), "jobmanager.crash_loop")
    assert flaps["data"]["cause"] == "LEADERSHIP_LOST"
    assert "high-availability.kubernetes.leader-election" in str(flaps["next_step"])
    once = found_in(kubernetes_flapping(1))
    assert "jobmanager.crash_loop" not in {one["rule"] for one in once}


LINE = re.compile(r"(\S+) (\S+) (\w+) +(\S+) +\[\] - ([\s\S]*)")


def as_json(line):
    """As ``JsonTemplateLayout`` writes it, by the names of ECS."""
    day, clock, level, logger, text = LINE.fullmatch(line).groups()
    head, _, trace = text.rstrip("\n").partition("\n")
    fields = {"@timestamp": f"{day}T{clock.replace(',', '.')}Z", "log.level": level}
    fields |= {"message": head, "log.logger": logger, "error.stack_trace": trace or None}
    return json.dumps(fields) + "\n"


def as_logback(line):
    day, clock, level, logger, text = LINE.fullmatch(line).groups()
    return f"{day} {clock.replace(',', '.')} [flink-pekko-5] {level} {logger} - {text}"


def as_container(line):
    """As containerd keeps what a container prints: each line with a stamp of its own."""
    day, clock, *_ = line.split()
    stamp = f"{day}T{clock.replace(',', '.')}000000Z stdout F "
    return "".join(f"{stamp}{one}\n" for one in line.splitlines())


def in_layout(story, layout):
    return replace(
        story,
        lines=[(at, layout(line)) for at, line in story.lines],
        others={
            name: [(at, layout(line)) for at, line in lines] for name, lines in story.others.items()
        },
    )


@pytest.mark.parametrize("layout", [as_json, as_logback, as_container])
@pytest.mark.parametrize(
    ("story", "rule"),
    [
        pytest.param(lost_in_turn(KILLED), "restart.loop", id="TaskManagers end"),
        pytest.param(workers_die(), "start.workers_lost", id="before they run"),
        pytest.param(crashes_once_it_ran(), "jobmanager.crash_loop", id="JobManager"),
        pytest.param(running(TOO_LARGE), "jobmanager.error", id="frame size"),
        pytest.param(
            loses_transactions(*LOST_TRANSACTIONS[1].values), "sink.transaction_timeout", id="sink"
        ),
    ],
)
def test_a_log_in_another_layout_is_the_same_finding(story, rule, layout):
    usual, other = newest(story, rule), newest(in_layout(story, layout), rule)
    same = ("severity", "title", "cause", "next_step", "data")
    assert {name: str(other[name]) for name in same} == {name: str(usual[name]) for name in same}
