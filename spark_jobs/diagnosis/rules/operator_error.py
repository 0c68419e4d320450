"""The operator's status has the error until a reconciliation succeeds."""

from collections.abc import Iterator

from ingest.messages import message
from spark_jobs.diagnosis.failure_causes.table import cause_of, code_of
from spark_jobs.diagnosis.findings import Finding, Limits
from spark_jobs.diagnosis.operator_samples import OperatorStatus
from spark_jobs.diagnosis.rule import last_error, rule, sample_finding

RULE = "operator.error"


@rule(
    RULE,
    message("Operator reports an error"),
    message("The Flink Kubernetes Operator could not do what a resource of the cluster asks for."),
    judges=OperatorStatus,
    needs=("errors",),
)
def judge(sample: OperatorStatus, limits: Limits) -> Iterator[Finding]:
    for resource, error in sample.errors:
        cause = cause_of(error)
        evidence, _sentence = last_error(error)
        yield sample_finding(
            sample,
            RULE,
            "critical" if sample.is_down else "warning",
            subject=("cluster", resource, resource),
            title=message(
                "{resource:name}: {what:text}",
                resource=resource,
                what=cause.title if cause else message("the operator reports an error"),
            ),
            cause=message("No JobManager runs. The operator says: {error:text}", error=error)
            if sample.is_down
            else message(
                "What was changed in the resource does not run, and later changes wait as well; the "
                "job goes on as it was deployed before. The operator says: {error:text}",
                error=error,
            ),
            next_step=cause.next_step
            if cause
            else message(
                "Read the status and the events of the resource (kubectl describe). Correct its "
                "spec, or take the change back: the operator tries again by itself."
            ),
            evidence=evidence,
            data={"cause": code_of(cause)},
        )
