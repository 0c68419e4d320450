"""What happened on each host by UTC day: of what earlier versions loaded as well."""

from typing import Any

from django.db import migrations, models

SUMS = """
INSERT INTO hosts_hostday (cluster, host, day, declines, expired, failures, losses, last_at)
SELECT cluster, host, {day}, SUM(CASE WHEN kind = 'decline' THEN 1 ELSE 0 END), SUM(CASE WHEN kind = 'expired' THEN 1 ELSE 0 END),
SUM(CASE WHEN kind = 'failure' THEN 1 ELSE 0 END),
COUNT(DISTINCT CASE WHEN kind = 'taskmanager_lost' THEN subject || ' ' || CAST(at AS VARCHAR(40)) END), MAX(at)
FROM hosts_hostevent GROUP BY cluster, host, {day}
"""
DAYS = {"postgresql": "CAST(at AT TIME ZONE 'UTC' AS DATE)", "sqlite": "date(at)"}


def count(apps: Any, schema_editor: Any) -> None:
    with schema_editor.connection.cursor() as cursor:
        cursor.execute(SUMS.format(day=DAYS[schema_editor.connection.vendor]))


class Migration(migrations.Migration):
    dependencies = [
        ("hosts", "0002_loads"),
    ]

    operations = [
        migrations.CreateModel(
            name="HostDay",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("cluster", models.CharField(max_length=100)),
                ("host", models.CharField(max_length=300)),
                ("day", models.DateField()),
                ("declines", models.IntegerField()),
                ("expired", models.IntegerField()),
                ("failures", models.IntegerField()),
                ("losses", models.IntegerField()),
                ("last_at", models.DateTimeField()),
            ],
            options={
                "indexes": [models.Index(fields=["day", "cluster"], name="host_day_of_cluster")],
                "constraints": [models.UniqueConstraint(fields=("cluster", "host", "day"), name="host_day_key")],
            },
        ),
        migrations.RunPython(count, migrations.RunPython.noop),
    ]
