import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):
    initial = True

    dependencies = []

    operations = [
        migrations.CreateModel(
            name="Heartbeat",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("name", models.CharField(max_length=64, unique=True)),
                ("at", models.DateTimeField()),
            ],
        ),
        migrations.CreateModel(
            name="DueWork",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("key", models.CharField(help_text="collect/0, spark/cycle, maintenance/retention, …", max_length=150, unique=True)),
                ("interval_s", models.PositiveIntegerField()),
                ("next_attempt_at", models.DateTimeField()),
                ("lease_until", models.DateTimeField(null=True)),
                ("leased_by", models.CharField(max_length=200, null=True)),
                ("fence", models.BigIntegerField(default=0)),
                ("failures", models.PositiveIntegerField(default=0, help_text="in a row")),
                ("last_started_at", models.DateTimeField(null=True)),
                ("last_finished_at", models.DateTimeField(null=True)),
                ("last_success_at", models.DateTimeField(null=True)),
                ("last_error", models.TextField(null=True)),
            ],
            options={
                "ordering": ["key"],
                "indexes": [models.Index(fields=["next_attempt_at"], name="due_work_next")],
            },
        ),
        migrations.CreateModel(
            name="PipelineAlarm",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("code", models.CharField(max_length=64)),
                ("subject", models.CharField(max_length=150)),
                ("detail", models.TextField()),
                ("since", models.DateTimeField()),
                ("cleared_at", models.DateTimeField(null=True)),
            ],
            options={
                "ordering": ["-since", "-id"],
                "constraints": [
                    models.UniqueConstraint(
                        condition=models.Q(("cleared_at__isnull", True)), fields=("code", "subject"), name="one_open_alarm"
                    )
                ],
            },
        ),
        migrations.CreateModel(
            name="PipelineRun",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("kind", models.CharField(help_text="collect, spark, import or maintenance", max_length=32)),
                ("key", models.CharField(help_text="of the due work", max_length=150)),
                ("attempt", models.CharField(help_text="tag that names this attempt everywhere", max_length=64, unique=True)),
                (
                    "state",
                    models.CharField(
                        choices=[("running", "running"), ("done", "done"), ("failed", "failed"), ("abandoned", "abandoned")],
                        default="running",
                        max_length=16,
                    ),
                ),
                ("started_at", models.DateTimeField()),
                ("finished_at", models.DateTimeField(null=True)),
                ("duration_ms", models.BigIntegerField(null=True)),
                ("counts", models.JSONField(default=dict)),
                ("log_tail", models.TextField(blank=True, help_text="last 64 KiB at most, credentials removed")),
                ("error", models.TextField(null=True)),
                ("manifest_path", models.CharField(max_length=1000, null=True)),
            ],
            options={
                "ordering": ["-started_at", "-id"],
                "indexes": [
                    models.Index(fields=["-started_at", "-id"], name="run_newest"),
                    models.Index(fields=["kind", "-started_at", "-id"], name="run_of_kind"),
                    models.Index(fields=["key", "state"], name="run_of_work"),
                ],
            },
        ),
        migrations.CreateModel(
            name="Manifest",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("attempt", models.CharField(max_length=64, unique=True)),
                ("path", models.CharField(help_text="of manifest.json", max_length=1000)),
                ("from_seq", models.JSONField(default=dict, help_text="lake table → commits already known before")),
                ("to_seq", models.JSONField(default=dict, help_text="lake table → commits known with it")),
                ("state", models.CharField(choices=[("written", "written"), ("loaded", "loaded")], default="written", max_length=16)),
                ("rows", models.JSONField(default=dict, help_text="serving table → rows in it")),
                ("changed", models.JSONField(default=dict, help_text="serving table → rows it changed")),
                ("created_at", models.DateTimeField(auto_now_add=True)),
                ("loaded_at", models.DateTimeField(null=True)),
                (
                    "run",
                    models.ForeignKey(
                        null=True, on_delete=django.db.models.deletion.SET_NULL, related_name="manifests", to="pipeline.pipelinerun"
                    ),
                ),
            ],
            options={
                "ordering": ["-id"],
            },
        ),
        migrations.CreateModel(
            name="SkippedInput",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("cluster", models.CharField(max_length=100)),
                ("observed_at", models.DateTimeField()),
                ("subject", models.CharField(max_length=300)),
                ("reason", models.CharField(max_length=64)),
                ("source", models.CharField(max_length=32, null=True)),
                ("detail", models.TextField(null=True)),
                ("as_of", models.DateTimeField()),
            ],
            options={
                "indexes": [
                    models.Index(fields=["cluster", "-observed_at", "-id"], name="skipped_input_of_cluster"),
                    models.Index(fields=["-observed_at", "-id"], name="skipped_input_age"),
                ],
                "constraints": [models.UniqueConstraint(fields=("cluster", "observed_at", "subject", "reason"), name="skipped_input_key")],
            },
        ),
    ]
