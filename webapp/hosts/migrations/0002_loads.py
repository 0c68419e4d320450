"""What runs on each host, summed: of what earlier versions loaded as well."""

from django.db import migrations, models

# With a condition, by which SQLite tells this ON from that of a join.
SUMS = """
INSERT INTO hosts_hostload (cluster, host, jobs, subtasks, slots)
SELECT cluster, host, COUNT(*), SUM(subtasks), SUM(slots) FROM hosts_jobhost WHERE left_at IS NULL GROUP BY cluster, host
"""


class Migration(migrations.Migration):
    dependencies = [
        ("hosts", "0001_hosts"),
    ]

    operations = [
        migrations.CreateModel(
            name="HostLoad",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("cluster", models.CharField(max_length=100)),
                ("host", models.CharField(max_length=300)),
                ("jobs", models.BigIntegerField()),
                ("subtasks", models.BigIntegerField()),
                ("slots", models.BigIntegerField()),
            ],
            options={
                "constraints": [models.UniqueConstraint(fields=("cluster", "host"), name="host_load_key")],
            },
        ),
        migrations.RunSQL(SUMS, migrations.RunSQL.noop),
    ]
