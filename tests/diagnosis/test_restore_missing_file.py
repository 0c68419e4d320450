"""restore.missing_file: a real Flink whose files were deleted by age, against its raw answers; and
the words of other file systems.
"""

import re
from dataclasses import replace

import pytest

from spark_jobs.diagnosis.missing_files import missing_at_restore, missing_file
from spark_jobs.diagnosis.registry import diagnose, limits
from spark_jobs.diagnosis.samples import (
    Annotation,
    CheckpointSample,
    JobFailure,
    JobWindow,
    LogEvent,
)
from tests.played import answers, evidence, occurrences, of_rule

RULE = "restore.missing_file"
VERSIONS = ("1.20.5", "2.3.0")
GONE = re.compile(r"FileNotFoundException: (\S+/shared/[0-9a-f-]{36}) \(No such file")
UUID = "6dea109d-347c-43cc-9d5e-42e05de6ad57"
JOB = "37c37bd26da17b2e6ac433866d51201d"
HDFS = f"/user/flink/checkpoints/{JOB}/shared/{UUID}"
RESTORE = (
    "\tat "
    "org.apache.flink.streaming.api.operators.BackendRestorerProcedure.createAndRestore(BackendRestorerProcedure.java:160)\n"
)


@pytest.mark.parametrize("version", VERSIONS)
def test_the_files_are_those_of_flinks_exceptions(version):
    *_, newest = of_rule(f"{version}/lost-file", RULE)
    told = {
        path
        for answer in answers(f"{version}/lost-file", "/jobs/[0-9a-f]{32}/exceptions(?:[?].*)?")
        for path in GONE.findall(str(answer.body))
    }
    found = {one["path"] for one in newest["data"]["files"]}
    assert found
    assert found <= told
    assert {one["subject"] for one in newest["related"] if one["kind"] == "file"} == found
    assert newest["severity"] == "critical"
    *_, last = answers(f"{version}/lost-file", f"/jobs/{newest['job_id']}/checkpoints")
    assert newest["data"]["checkpoint"] == str(last.body["latest"]["restored"]["id"])


@pytest.mark.parametrize("version", VERSIONS)
def test_the_missing_file_lies_in_the_directory_of_the_job_before(version):
    *_, newest = of_rule(f"{version}/lost-file", RULE)
    for one in newest["data"]["files"]:
        assert one["path"].split("/")[-3] not in (newest["job_id"], "")


@pytest.mark.parametrize("version", VERSIONS)
def test_attempts_are_counted_once_though_two_processes_log_them(version):
    *_, newest = of_rule(f"{version}/lost-file", RULE)
    assert evidence(newest, "restores with a missing file") == sum(
        one["attempts"] for one in newest["data"]["files"]
    )


@pytest.mark.parametrize("version", VERSIONS)
def test_a_checkpoint_that_is_gone_as_a_whole_is_told_of_the_job_that_did_not_start(version):
    """Flink refuses the submission and lists the job as failed; the job beside it is healthy."""
    ended, told = occurrences(f"{version}/lost-checkpoint")
    assert (ended["rule"], ended["data"]["ended_by"]) == ("job.failed", "NOT_STARTED")
    states = {
        one.found[0]: one.body["state"]
        for one in answers(f"{version}/lost-checkpoint", "/jobs/([0-9a-f]{32})")
    }
    assert (told["rule"], states[told["job_id"]]) == (RULE, "FAILED")
    assert "RUNNING" in states.values()
    (lost,) = told["data"]["files"]
    assert lost["path"].endswith("/37c37bd26da17b2e6ac433866d51201d/chk-7")
    assert "did not start" in told["cause"]


def test_other_restarts_are_none_of_it():
    assert not [one for one in occurrences("2.3.0/few-buffers") if one["rule"] == RULE]


@pytest.mark.parametrize(
    ("line", "path"),
    [
        pytest.param(
            'java.io.FileNotFoundException: Operation failed: "The specified path does not '
            'exist.", '
            "404, HEAD, https://acc.dfs.core.windows.net/c/flink/chk-7/_metadata?upn=false&timeout=90",
            "https://acc.dfs.core.windows.net/c/flink/chk-7/_metadata",
            id="Azure data lake",
        ),
        pytest.param(
            "java.io.FileNotFoundException: re-open s3a://b/f/x at 0 on s3a://b/f/x: com.amazonaws."
            "services.s3.model.AmazonS3Exception: The specified key does not exist. (Service: "
            "Amazon "
            "S3; Status Code: 404; Error Code: NoSuchKey)",
            "s3a://b/f/x",
            id="S3A opens it anew",
        ),
        pytest.param(
            "java.io.FileNotFoundException: No such file or directory 'cosn://b/flink/x'",
            "cosn://b/flink/x",
            id="COS",
        ),
        pytest.param(
            "java.io.FileNotFoundException: oss://b/x: No such file or directory!",
            "oss://b/x",
            id="OSS by Hadoop",
        ),
        pytest.param(
            "com.aliyun.oss.OSSException: The specified key does not exist.\n[ErrorCode]: "
            "NoSuchKey\n"
            "[ResponseError]:\n<Error><Code>NoSuchKey</Code><Key>flink/chk-1/x</Key></Error>",
            "flink/chk-1/x",
            id="OSS by itself",
        ),
        pytest.param(
            "java.io.FileNotFoundException: File not found: gs://b/x",
            "gs://b/x",
            id="GCS by Hadoop",
        ),
        pytest.param(
            "java.io.FileNotFoundException: File not found: s3://b/x",
            "s3://b/x",
            id="S3 by Flink",
        ),
        pytest.param(
            "java.io.IOException: Failed to open S3 stream for b/ck/x\nCaused by: software.amazon."
            "awssdk.services.s3.model.NoSuchKeyException: The specified key does not exist.",
            "b/ck/x",
            id="S3 by Flink, where it reads",
        ),
        pytest.param(
            "java.io.FileNotFoundException: wasbs://c@acc.blob.core.windows.net/x: No such file or "
            "directory.",
            "wasbs://c@acc.blob.core.windows.net/x",
            id="Azure's blobs",
        ),
        pytest.param(
            "java.io.FileNotFoundException: File file:/ck/x does not exist or the user running "
            "Flink ('flink') has insufficient permissions to access it.",
            "file:/ck/x",
            id="the local file system of Flink",
        ),
        pytest.param(
            "java.io.FileNotFoundException: File file:/ck/x does not exist",
            "file:/ck/x",
            id="the local file system of Hadoop",
        ),
        pytest.param(
            "java.io.FileNotFoundException: File 's3://b/t/manifest/m-1' not found, Possible "
            "causes: 1.snapshot expires too fast",
            "s3://b/t/manifest/m-1",
            id="Paimon",
        ),
        pytest.param(
            "java.io.FileNotFoundException: /ck/x (Nie ma takiego pliku ani katalogu)",
            "/ck/x",
            id="Polish",
        ),
        pytest.param(
            "java.io.FileNotFoundException: C:\\ck\\x (El sistema no puede encontrar el archivo "
            "especificado)",
            "C:\\ck\\x",
            id="Windows, Spanish",
        ),
        pytest.param(
            'com.google.cloud.storage.StorageException: 404 Not Found\n"No such object: b/flink/x"',
            "b/flink/x",
            id="GCS by itself",
        ),
        pytest.param(
            "java.io.FileNotFoundException: /data/ck/x (Datei oder Verzeichnis nicht gefunden)",
            "/data/ck/x",
            id="German",
        ),
        pytest.param(
            "java.io.FileNotFoundException: /data/ck/x (没有那个文件或目录)",
            "/data/ck/x",
            id="Chinese",
        ),
        pytest.param(
            "java.io.FileNotFoundException: C:\\flink\\ck\\chk-3\\_metadata (The system cannot "
            "find the "
            "path specified)",
            "C:\\flink\\ck\\chk-3\\_metadata",
            id="Windows",
        ),
        (
            f"java.io.FileNotFoundException: /ck/{JOB}/shared/{UUID} (No such file or directory)",
            f"/ck/{JOB}/shared/{UUID}",
        ),
        (f"java.nio.file.NoSuchFileException: /ck/{JOB}/shared/{UUID}", f"/ck/{JOB}/shared/{UUID}"),
        (f"java.io.FileNotFoundException: File does not exist: {HDFS}", HDFS),
        (
            f"java.io.FileNotFoundException: File does not exist: {HDFS} (inode 16409) Holder x",
            HDFS,
        ),
        (
            f"java.io.FileNotFoundException: File does not exist: hdfs://nn1:8020{HDFS}",
            f"hdfs://nn1:8020{HDFS}",
        ),
        (
            "java.io.FileNotFoundException: No such file or directory: "
            f"s3a://b/{JOB}/shared/{UUID}",
            f"s3a://b/{JOB}/shared/{UUID}",
        ),
        (
            f"java.io.FileNotFoundException: oss://b/{JOB}/chk-7/{UUID}: No such file or "
            "directory!",
            f"oss://b/{JOB}/chk-7/{UUID}",
        ),
        *(
            (f"java.io.FileNotFoundException: {local} ({words})", local)
            for local, words in (
                (f"/data/ck/{UUID}", "Немає такого файла або каталогу"),
                (f"/data/ck/{UUID}", "Adresář nebo soubor neexistuje"),
                (f"C:\\ck\\{UUID}", "Не удается найти указанный файл"),
                (f"C:\\ck\\{UUID}", "Системе не удается найти указанный путь"),
                (f"C:\\ck\\{UUID}", "系統找不到指定的檔案。"),
            )
        ),
        (
            "…S3Exception: The specified key does not exist. (Service: S3; NoSuchKey) (Path: "
            f"s3p://b/{JOB}/{UUID})",
            f"s3p://b/{JOB}/{UUID}",
        ),
        (
            f"java.io.FileNotFoundException: Item not found: 'gs://b/{JOB}/shared/{UUID}'. Note …",
            f"gs://b/{JOB}/shared/{UUID}",
        ),
        (
            "java.io.FileNotFoundException: Cannot find meta data file '_metadata' in directory "
            "'hdfs:/x/chk-7'. Please",
            "hdfs:/x/chk-7",
        ),
        (
            "…: Cannot find checkpoint or savepoint file/directory 's3://b/sp/savepoint-1-2' on "
            "file system 's3'.",
            "s3://b/sp/savepoint-1-2",
        ),
    ],
)
def test_each_file_system_has_its_words(line, path):
    assert missing_file(line) == path
    assert (
        missing_file(f"java.lang.Exception: x\n{RESTORE}Caused by: {line}\n\tat a.B.c(B.java:1)\n")
        == path
    )


@pytest.mark.parametrize(
    "text",
    [
        None,
        "",
        "java.io.IOException: disk full",
        "Cannot find a way",
        "File does not exist",
        RESTORE,
    ],
)
def test_what_names_no_file_gives_none(text):
    assert missing_file(text) is None


def on_disk(reader):
    trace = (
        f"{RESTORE}\nCaused by: java.io.FileNotFoundException: /ck/{JOB}/chk-7/{UUID} (No such "
        f"file or directory)\n\tat {reader}(X.java:1)\n"
    )
    [found] = judged(window(failures=(JobFailure(990_000, "x", stacktrace=trace),)))
    return str(found.next_step)


def test_a_file_of_a_local_disk_is_first_looked_for_on_the_host_that_wrote_it():
    assert "all hosts share that disk" in on_disk(
        "org.apache.flink.core.fs.local.LocalDataInputStream.<init>"
    )
    assert "all hosts share that disk" not in on_disk("org.apache.hadoop.hdfs.DFSClient.open")


def test_a_file_missed_elsewhere_than_in_a_restore_is_no_matter_of_it():
    writing = (
        f"java.io.FileNotFoundException: /ck/{JOB}/chk-7/{UUID} (No such file or "
        "directory)\n\tat user.Sink.invoke(Sink.java:1)\n"
    )
    assert missing_at_restore(writing) is None
    assert judged(window(failures=(JobFailure(990_000, "x", stacktrace=writing),))) == ()


def window(**fields):
    return JobWindow("c", "j", 1_000_000, 960_000, **fields)


def judged(one):
    return diagnose(one, limits(), only=[RULE]).findings


TRACE = (
    f"java.lang.Exception: Exception while creating StreamOperatorStateContext.\n{RESTORE}"
    f"Caused by: java.io.FileNotFoundException: File does not exist: {HDFS}\n"
)


def failed(at_ms=990_000, attempt=3):
    return LogEvent(
        at_ms,
        "task_state",
        vertex_name="enrich",
        subtask=1,
        attempt=attempt,
        detail=TRACE,
        fields={"to_state": "FAILED"},
    )


def test_a_log_alone_tells_it_and_names_task_and_checkpoint():
    restored = Annotation(988_000, "restore", "41")
    (found,) = judged(
        window(
            events=(failed(), failed(990_020), failed(995_000, attempt=4)), annotations=(restored,)
        )
    )
    assert found.title == "Restore failed: 1 file of checkpoint 41 not there"
    assert dict(found.data) == {"files": [{"path": HDFS, "attempts": 2}], "checkpoint": "41"}
    assert "enrich (2) looked for" in found.cause


GONE_AS_A_WHOLE = (
    "org.apache.flink.runtime.client.JobInitializationException: Could not start the JobMaster.\n"
    "Caused by: java.io.FileNotFoundException: Cannot find checkpoint or savepoint file/directory "
    "'s3://b/sp/savepoint-1-2' on file system 's3'.\n"
)


def test_a_log_alone_tells_it_of_a_job_that_did_not_start():
    ended = LogEvent(990_000, "job_terminal", detail=GONE_AS_A_WHOLE, fields={"to_state": "FAILED"})
    (found,) = judged(window(events=(ended,)))
    assert dict(found.data)["files"] == [{"path": "s3://b/sp/savepoint-1-2", "attempts": 1}]
    assert "did not start" in found.cause
    (same,) = judged(
        window(events=(ended,), failures=(JobFailure(989_990, "x", stacktrace=GONE_AS_A_WHOLE),))
    )
    assert same.data == found.data


def test_the_end_of_a_job_is_no_attempt_beside_those_of_its_tasks():
    ended = LogEvent(996_000, "job_terminal", detail=TRACE, fields={"to_state": "FAILED"})
    (found,) = judged(window(events=(failed(), ended)))
    assert dict(found.data)["files"] == [{"path": HDFS, "attempts": 1}]


def test_rest_alone_tells_it_too_and_it_is_forgotten_after_ten_minutes():
    told = window(
        failures=(
            JobFailure(990_000, "java.lang.Exception", task="enrich (2/4)", stacktrace=TRACE),
        )
    )
    assert judged(told)[0].severity == "critical"
    assert judged(replace(told, at_ms=990_000 + 600_001)) == ()


def test_a_job_that_took_a_checkpoint_since_runs_again():
    (found,) = judged(
        window(events=(failed(),), checkpoints=(CheckpointSample(42, 995_000, "completed"),))
    )
    assert found.severity == "warning"
