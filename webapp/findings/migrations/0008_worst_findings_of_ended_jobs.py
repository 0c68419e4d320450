from typing import Any

from django.db import migrations

from spark_jobs.diagnosis.health import worst_points
from webapp.lib.chunks import chunks

JOBS_AT_ONCE = 500


def rank_them(apps: Any, schema_editor: Any) -> None:
    """Jobs that ended already: nothing judges them again."""
    jobs, findings = apps.get_model("fleet", "JobCurrent").objects, apps.get_model("findings", "Finding").objects
    for cluster in list(jobs.order_by().values_list("cluster", flat=True).distinct()):
        ended = jobs.filter(cluster=cluster, terminal=True)
        for ids in chunks(list(ended.values_list("job_id", flat=True)), JOBS_AT_ONCE):
            points: dict[str, int] = {}
            for one in findings.filter(cluster=cluster, job_id__in=ids).only("job_id", "rule", "severity", "confidence"):
                points[one.job_id] = max(points.get(one.job_id, 0), worst_points([one]))
            for worst in set(points.values()):
                ended.filter(job_id__in=[job for job in ids if points.get(job) == worst]).update(worst_finding_points=worst)


class Migration(migrations.Migration):
    dependencies = [
        ("findings", "0007_hosts_of_earlier_findings"),
        ("fleet", "0021_worst_finding_of_ended_jobs"),
    ]

    operations = [
        migrations.RunPython(rank_them, migrations.RunPython.noop),
    ]
