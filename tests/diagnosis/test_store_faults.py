"""Which bucket fails a job's requests, and of which jobs that is one trouble."""

import pytest

from spark_jobs.diagnosis import registry
from spark_jobs.diagnosis.incidents import trace_of
from tests.diagnosis.jobs import (
    LIMITS,
    checkpoint,
    event,
    failure,
    found,
    minutely,
    window,
)
from tests.told_logs import Story, found_in

RULE = "store.faults"
JOB = "26eb676de8b3e133f9078fabe3704eb6"
PATH = f"s3://lake/flink/ck/{JOB}/chk-3"
SLOW_DOWN = (
    "com.amazonaws.services.s3.model.AmazonS3Exception: Please reduce your request rate. "
    "(Service: Amazon S3; Status Code: 503; Error Code: SlowDown)"
)
OF_STATE = (
    "java.io.IOException: Could not flush to file and close the file system output stream to "
    f"s3a://lake/flink/ck/{JOB}/shared/0a1b in order to obtain the stream state handle\n"
    f"\tat org.apache.flink.runtime.state.filesystem.FsCheckpointStreamFactory.a(X.java:1)\n"
    f"Caused by: {SLOW_DOWN}"
)
UNNAMED_OF_STATE = (
    "java.io.IOException: Could not open output stream for state backend\n"
    "\tat org.apache.flink.runtime.state.filesystem.FsCheckpointStreamFactory.a(X.java:1)\n"
    f"Caused by: {SLOW_DOWN}"
)
UNNAMED_OF_SINK = (
    "java.io.IOException: Failed to commit\n"
    "\tat org.apache.flink.fs.s3.common.writer.S3RecoverableFsDataOutputStream.sync(X.java:1)\n"
    f"Caused by: {SLOW_DOWN}"
)


def lost(id, at, exception, **values):
    return checkpoint(id, at, "declined", declines=({"exception": exception},), **values)


def kept(*more):
    """Completed checkpoints in the bucket lake, and others."""
    return (*minutely(3, external_path=PATH), *more)


@pytest.mark.parametrize(
    "who", ["AKIAIOSFODNN7EXAMPLE:wJalrXUtnFEMIKKEY@", "AKIAIOSFODNN7EXAMPLE@", "******@"]
)
def test_who_asks_is_no_part_of_the_bucket(who: str) -> None:
    text = SLOW_DOWN.replace("Please", f"s3a://{who}lake/a/b: Please")
    [one] = found(window(*kept(), failures=(failure(125, text),), at=180), RULE)
    assert one.title == "s3://lake throttles requests (503 or 429)"
    assert "AKIA" not in repr(one)


@pytest.mark.parametrize(
    ("text", "title"),
    [
        (SLOW_DOWN.replace("Please", "s3a://lake/a/b: Please"),
         "s3://lake throttles requests (503 or 429)"),
        ("com.google.cloud.storage.StorageException: The object lake/ck/x exceeded the rate limit "
         "for object mutation operations (create, update, and delete). Please reduce your request "
         "rate.", "gs://lake throttles requests (503 or 429)"),
        ("com.aliyun.oss.OSSException: QPS Limit Exceeded.\n[ErrorCode]: QpsLimitExceeded\n"
         "[HostId]: lake.oss-cn-beijing.aliyuncs.com",
         "oss://lake throttles requests (503 or 429)"),
        ("com.qcloud.cos.exception.CosServiceException: Reduce your request rate. (Status Code: "
         "503; Error Code: SlowDown; Request ID: 1) lake-125.cos.ap-beijing.myqcloud.com",
         "cos://lake-125 throttles requests (503 or 429)"),
        ('Operation failed: "Ingress is over the account limit.", 503, PUT, '
         "https://acct.dfs.core.windows.net/lake/ck/a?action=append, ServerBusy",
         "abfs://lake@acct.dfs.core.windows.net throttles requests (503 or 429)"),
        ("software.amazon.awssdk.services.s3.model.S3Exception: User: arn:aws:iam::1:role/flink is "
         'not authorized to perform: s3:PutObject on resource: "arn:aws:s3:::lake/flink/ck/a/b" '
         "(Service: S3, Status Code: 403, Request ID: 1)", "s3://lake/flink/ck refuses access (403)"),
        ("org.apache.hadoop.fs.s3a.AWSClientIOException: getFileStatus on s3a://lake/x: "
         "com.amazonaws.SdkClientException: Unable to execute HTTP request: Timeout waiting for "
         "connection from pool", "No connection to s3://lake is free"),
        ("org.apache.hadoop.fs.s3a.AWSS3IOException: upload part on s3a://lake/x: Your socket "
         "connection to the server was not read from or written to within the timeout period. "
         "(Service: Amazon S3; Status Code: 400; Error Code: RequestTimeout)",
         "Requests to s3://lake time out"),
    ],
)  # fmt: skip
def test_the_bucket_is_the_one_that_the_exception_names(text, title):
    [finding] = found(window(*kept(), failures=(failure(125, text),), at=180), RULE)
    assert (finding.title, finding.severity, finding.confidence) == (title, "warning", "high")


def test_a_lost_checkpoint_names_the_bucket_that_its_trace_names_and_the_prefix():
    [finding] = found(window(*kept(lost(4, 180, OF_STATE))), RULE)
    assert (finding.subject, finding.data["prefixes"]) == ("s3://lake", ["flink/ck"])
    assert finding.data["counts"] == {"checkpoint": 1}
    assert not finding.data["is_assumed"]


def test_where_no_text_names_it_the_bucket_is_the_checkpoints_for_faults_of_checkpoints_alone():
    [finding] = found(window(*kept(lost(4, 180, UNNAMED_OF_STATE))), RULE)
    assert (finding.subject, finding.confidence) == ("s3://lake", "medium")
    assert "No text names the bucket" in finding.cause
    assert not found(window(*kept(lost(4, 180, UNNAMED_OF_SINK))), RULE)
    named = UNNAMED_OF_SINK.replace("Failed to commit", "Failed to commit s3://results/x")
    [of_sink] = found(window(*kept(lost(4, 180, named))), RULE)
    assert of_sink.subject == "s3://results"


def test_a_bucket_that_only_a_job_without_checkpoints_configures_is_taken_too():
    text = UNNAMED_OF_STATE.replace("Please", "Access Denied").replace("503", "403")
    text = text.replace("reduce your request rate", "").replace("SlowDown", "AccessDenied")
    judged = window(
        at=180,
        failures=(failure(125, text),),
        settings={"state.checkpoints.dir": "s3p://other/root"},
    )
    [finding] = found(judged, RULE)
    assert finding.title == "s3://other/root refuses access (403)"


def test_retries_alone_are_information_and_many_lines_a_warning():
    def lines(kind, count):
        fields = {"path": "s3://lake/ck/x"}
        return tuple(
            event(60 + at, kind, reason="STORE_THROTTLED", message="x", fields=fields)
            for at in range(count)
        )

    [retried] = found(window(*kept(), events=lines("store_retried", 40), at=180), RULE)
    assert (retried.severity, retried.data["counts"]) == ("info", {"retried": 40})
    [logged] = found(window(*kept(), events=lines("store_throttled", 3), at=180), RULE)
    assert logged.severity == "warning"
    [few] = found(window(*kept(), events=lines("store_throttled", 2), at=180), RULE)
    assert few.severity == "info"


def test_a_logged_loss_that_names_no_bucket_is_of_the_checkpoints_only_if_its_reason_says_so():
    def logged(reason):
        lost = event(
            179, "checkpoint_failed", checkpoint_id=4, reason=reason, message="x", detail=SLOW_DOWN
        )
        return found(window(*kept(), events=(lost,), at=180), RULE)

    assert [one.subject for one in logged("IO_EXCEPTION")] == ["s3://lake"]
    assert not logged("CHECKPOINT_DECLINED")


@pytest.mark.parametrize(
    "text",
    [
        "java.io.IOException: No space left on device s3://lake/x",
        "org.apache.hadoop.security.AccessControlException: Permission denied: hdfs://nn/flink",
        "com.amazonaws.services.kinesis.model.AmazonKinesisException: x (Service: AmazonKinesis; "
        "Status Code: 503; Error Code: SlowDown)",
    ],
)
def test_other_faults_and_other_systems_are_none_of_an_object_store(text):
    assert not found(window(*kept(), failures=(failure(125, text),), at=180), RULE)


def test_a_fault_of_long_ago_is_none_of_now():
    assert not found(window(*kept(), failures=(failure(125, OF_STATE),), at=1200), RULE)


def shared(judged):
    said = registry.diagnose(judged, LIMITS, only=[RULE]).findings
    return [trace_of(one.rule, one.subject_kind, one.subject_id, one.data) for one in said]


def test_jobs_share_a_trouble_by_bucket_and_kind_of_fault():
    of_one = window(*kept(lost(4, 180, OF_STATE)))
    of_other = window(*kept(lost(4, 180, OF_STATE.replace("flink/ck", "team/ck"))))
    elsewhere = window(*kept(lost(4, 180, OF_STATE.replace("//lake", "//pond"))))
    refused = OF_STATE.replace("Please reduce your request rate", "Access Denied").replace(
        "503; Error Code: SlowDown", "403; Error Code: AccessDenied"
    )
    of_kind = window(*kept(lost(4, 180, refused)))
    [one], [other], [far], [kind] = map(shared, (of_one, of_other, elsewhere, of_kind))
    assert one.shared & other.shared
    assert not one.shared & far.shared and not one.shared & kind.shared


def test_of_two_buckets_that_fail_alike_one_explains_what_was_lost():
    judged = window(
        *kept(lost(4, 180, OF_STATE)),
        events=(
            event(
                170,
                "store_throttled",
                reason="STORE_THROTTLED",
                message="x",
                fields={"path": "s3://pond/x"},
            ),
        ),
    )
    traces = shared(judged)
    assert [sorted(trace.causes) for trace in traces] == [[], ["STORE_THROTTLED"]]
    assert len({thing for trace in traces for thing in trace.shared}) == 2


def test_lines_of_a_taskmanager_are_of_the_job_that_runs_there():
    story = Story().submitted().deployed(1)
    for number in range(1, 5):
        story.checkpoint(60 * number, number)
    upload = "Writing Object on flink/ck/x"
    for at in (200, 205, 210):
        story.say(
            at,
            f"{upload}: Retried 1: org.apache.hadoop.fs.s3a.AWSServiceThrottledException: {upload} "
            f"on s3a://lake/flink/ck/x: {SLOW_DOWN}",
            "org.apache.hadoop.fs.s3a.WriteOperationHelper",
            process="tm-1",
        )
        story.say(at + 1, f"Delete failed.\n{SLOW_DOWN} s3a://lake/a", level="WARN", process="tm-1")
    [last] = [one for one in found_in(story) if one["rule"] == RULE][-1:]
    assert (last["subject"], last["severity"]) == ("s3://lake", "warning")
    assert last["data"]["counts"] == {"retried": 3, "logged": 3}
