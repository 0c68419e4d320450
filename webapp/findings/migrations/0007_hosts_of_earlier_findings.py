from typing import Any

from django.db import migrations

from spark_jobs.diagnosis.finding_hosts import hosts_of

ROWS_AT_ONCE = 1_000


def name_them(apps: Any, schema_editor: Any) -> None:
    """Of findings that are there already."""
    named_host, rows = apps.get_model("findings", "FindingHost"), []
    found = apps.get_model("findings", "Finding").objects.only("cluster", "data", "related")
    for one in found.iterator(chunk_size=ROWS_AT_ONCE):
        rows += [named_host(finding=one, cluster=one.cluster, host=host) for host in hosts_of(one.data, one.related)]
        if len(rows) >= ROWS_AT_ONCE:
            named_host.objects.bulk_create(rows)
            rows = []
    named_host.objects.bulk_create(rows)


class Migration(migrations.Migration):
    dependencies = [
        ("findings", "0006_hosts_of_findings"),
    ]

    operations = [
        migrations.RunPython(name_them, migrations.RunPython.noop),
    ]
