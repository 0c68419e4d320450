import django.core.validators
import django.db.models.functions.comparison
from django.db import migrations, models

import webapp.fleet.validators


class Migration(migrations.Migration):
    initial = True

    dependencies = []

    operations = [
        migrations.CreateModel(
            name="Cluster",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                (
                    "name",
                    models.CharField(
                        max_length=100,
                        unique=True,
                        validators=[
                            django.core.validators.RegexValidator(
                                "^[A-Za-z0-9][A-Za-z0-9._-]*$", "Use letters, digits, dots, dashes and underscores."
                            )
                        ],
                    ),
                ),
                ("kind", models.CharField(choices=[("live", "live"), ("recording", "recording")], default="live", max_length=16)),
                ("enabled", models.BooleanField(default=True)),
                (
                    "url",
                    models.CharField(
                        blank=True,
                        help_text="REST address of the JobManager",
                        max_length=500,
                        validators=[webapp.fleet.validators.is_web_url],
                    ),
                ),
                (
                    "history_url",
                    models.CharField(
                        blank=True,
                        help_text="REST address of the History Server",
                        max_length=500,
                        validators=[webapp.fleet.validators.is_web_url],
                    ),
                ),
                ("archive_dir", models.CharField(blank=True, help_text="folder or URI of the History Server's archives", max_length=500)),
                (
                    "auth_scheme",
                    models.CharField(
                        blank=True,
                        choices=[("", "none"), ("basic", "user and password"), ("bearer", "bearer token")],
                        default="",
                        max_length=8,
                    ),
                ),
                ("auth_user", models.CharField(blank=True, max_length=200)),
                ("auth_secret_encrypted", models.TextField(blank=True, editable=False)),
                ("ca_file", models.CharField(blank=True, help_text="PEM file of the authority to trust", max_length=500)),
                ("client_cert_file", models.CharField(blank=True, max_length=500)),
                ("client_key_file", models.CharField(blank=True, max_length=500)),
                ("verify_tls", models.BooleanField(default=True)),
                (
                    "log_globs",
                    models.JSONField(blank=True, default=list, help_text="paths, globs or URIs of JobManager and TaskManager logs"),
                ),
                ("log_layout", models.CharField(default="flink", help_text="flink, or a log4j pattern", max_length=500)),
                (
                    "time_zone",
                    models.CharField(
                        default="UTC",
                        help_text="of the log lines, which carry none",
                        max_length=64,
                        validators=[webapp.fleet.validators.is_time_zone],
                    ),
                ),
                ("metrics_interval_s", models.PositiveIntegerField(default=30)),
                ("shard", models.PositiveIntegerField(default=0, editable=False)),
                ("cursor", models.JSONField(blank=True, default=dict, editable=False)),
                (
                    "fingerprint",
                    models.CharField(blank=True, editable=False, help_text="of the recording this was imported from", max_length=128),
                ),
                ("created_at", models.DateTimeField(auto_now_add=True)),
                ("last_collected_at", models.DateTimeField(editable=False, null=True)),
                ("last_success_at", models.DateTimeField(editable=False, null=True)),
                ("last_error", models.TextField(editable=False, null=True)),
                ("last_requests", models.PositiveIntegerField(editable=False, null=True)),
                ("last_skips", models.PositiveIntegerField(editable=False, null=True)),
                ("jobs_seen", models.PositiveIntegerField(editable=False, null=True)),
                ("consecutive_failures", models.PositiveIntegerField(default=0, editable=False)),
                ("blind_since", models.DateTimeField(editable=False, null=True)),
                ("flink_version", models.CharField(editable=False, max_length=64, null=True)),
                ("sees", models.JSONField(blank=True, default=list, editable=False, help_text="what the last connection test could read")),
                ("misses", models.JSONField(blank=True, default=list, editable=False, help_text="what it could not, and why")),
            ],
            options={
                "ordering": ["name"],
                "indexes": [models.Index(fields=["kind", "enabled", "shard"], name="cluster_shard")],
            },
        ),
        migrations.CreateModel(
            name="JobAnnotation",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("cluster", models.CharField(max_length=100)),
                ("job_id", models.CharField(max_length=64)),
                ("at", models.DateTimeField()),
                ("kind", models.CharField(max_length=64)),
                ("subject", models.CharField(max_length=300)),
                ("label", models.TextField(null=True)),
                ("detail", models.JSONField(null=True)),
                ("as_of", models.DateTimeField()),
            ],
            options={
                "indexes": [models.Index(fields=["at"], name="annotation_age")],
                "constraints": [models.UniqueConstraint(fields=("cluster", "job_id", "at", "kind", "subject"), name="job_annotation_key")],
            },
        ),
        migrations.CreateModel(
            name="JobCurrent",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("cluster", models.CharField(max_length=100)),
                ("job_id", models.CharField(max_length=64)),
                ("name", models.CharField(max_length=300, null=True)),
                ("state", models.CharField(max_length=32, null=True)),
                ("terminal", models.BooleanField(null=True)),
                ("start_time", models.DateTimeField(null=True)),
                ("end_time", models.DateTimeField(null=True)),
                ("flink_version", models.CharField(max_length=64, null=True)),
                ("parallelism", models.BigIntegerField(null=True)),
                ("vertex_count", models.BigIntegerField(null=True)),
                ("restarts", models.BigIntegerField(null=True)),
                ("graph", models.JSONField(null=True)),
                ("checkpoint_config", models.JSONField(null=True)),
                ("configuration", models.JSONField(null=True)),
                ("checkpoint_interval_ms", models.BigIntegerField(null=True)),
                ("checkpoint_timeout_ms", models.BigIntegerField(null=True)),
                ("last_completed_id", models.BigIntegerField(null=True)),
                ("last_completed_at", models.DateTimeField(null=True)),
                ("last_completed_ms", models.BigIntegerField(null=True)),
                ("last_outcome", models.CharField(max_length=32, null=True)),
                ("recent_outcomes", models.JSONField(null=True)),
                ("recent_total", models.BigIntegerField(null=True)),
                ("recent_failed", models.BigIntegerField(null=True)),
                ("end_to_end_p95_ms", models.FloatField(null=True)),
                ("dominant_phase", models.CharField(max_length=32, null=True)),
                ("dominant_phase_share", models.FloatField(null=True)),
                ("state_bytes", models.BigIntegerField(null=True)),
                ("checkpointed_bytes", models.BigIntegerField(null=True)),
                ("pressured_share", models.FloatField(null=True)),
                ("restored_checkpoint_id", models.BigIntegerField(null=True)),
                ("restored_at", models.DateTimeField(null=True)),
                ("restored_is_savepoint", models.BooleanField(null=True)),
                ("restored_path", models.TextField(null=True)),
                ("first_seen_at", models.DateTimeField(null=True)),
                ("last_seen_at", models.DateTimeField(null=True)),
                ("as_of", models.DateTimeField()),
                (
                    "trouble",
                    models.PositiveSmallIntegerField(default=0, help_text="0 nothing known … 100 the job is gone; orders the fleet page"),
                ),
            ],
            options={
                "indexes": [
                    models.Index(models.F("trouble"), models.F("id"), name="job_by_trouble"),
                    models.Index(
                        django.db.models.functions.comparison.Coalesce(models.F("name"), models.Value("")),
                        models.F("id"),
                        name="job_by_name",
                    ),
                    models.Index(models.F("cluster"), models.F("id"), name="job_by_cluster"),
                    models.Index(
                        django.db.models.functions.comparison.Coalesce(models.F("state"), models.Value("")),
                        models.F("id"),
                        name="job_by_state",
                    ),
                    models.Index(
                        django.db.models.functions.comparison.Coalesce(models.F("end_to_end_p95_ms"), models.Value(-1.0)),
                        models.F("id"),
                        name="job_by_duration",
                    ),
                    models.Index(
                        django.db.models.functions.comparison.Coalesce(models.F("state_bytes"), models.Value(-1)),
                        models.F("id"),
                        name="job_by_size",
                    ),
                    models.Index(
                        django.db.models.functions.comparison.Coalesce(models.F("checkpointed_bytes"), models.Value(-1)),
                        models.F("id"),
                        name="job_by_uploaded",
                    ),
                    models.Index(
                        django.db.models.functions.comparison.Coalesce(models.F("recent_failed"), models.Value(-1)),
                        models.F("id"),
                        name="job_by_failed",
                    ),
                    models.Index(
                        django.db.models.functions.comparison.Coalesce(models.F("pressured_share"), models.Value(-1.0)),
                        models.F("id"),
                        name="job_by_pressure",
                    ),
                    models.Index(
                        django.db.models.functions.comparison.Coalesce(models.F("restarts"), models.Value(-1)),
                        models.F("id"),
                        name="job_by_restarts",
                    ),
                ],
                "constraints": [models.UniqueConstraint(fields=("cluster", "job_id"), name="job_current_key")],
            },
        ),
        migrations.CreateModel(
            name="JobException",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("cluster", models.CharField(max_length=100)),
                ("job_id", models.CharField(max_length=64)),
                ("ts", models.DateTimeField()),
                ("task_key", models.CharField(max_length=300)),
                ("exception_name", models.CharField(max_length=300)),
                ("task", models.TextField(null=True)),
                ("stacktrace", models.TextField(null=True)),
                ("host", models.TextField(null=True)),
                ("taskmanager_id", models.TextField(null=True)),
                ("is_root", models.BooleanField(null=True)),
                ("as_of", models.DateTimeField()),
            ],
            options={
                "indexes": [
                    models.Index(fields=["cluster", "job_id", "-ts", "-id"], name="exception_of_job"),
                    models.Index(fields=["ts"], name="exception_age"),
                ],
                "constraints": [
                    models.UniqueConstraint(fields=("cluster", "job_id", "ts", "task_key", "exception_name"), name="job_exception_key")
                ],
            },
        ),
        migrations.CreateModel(
            name="LogEvent",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("cluster", models.CharField(max_length=100)),
                ("process", models.CharField(max_length=300)),
                ("ts", models.DateTimeField()),
                ("record_hash", models.CharField(max_length=64)),
                ("ordinal", models.BigIntegerField()),
                ("kind", models.CharField(max_length=64)),
                ("level", models.CharField(max_length=16, null=True)),
                ("job_id", models.CharField(max_length=64, null=True)),
                ("checkpoint_id", models.BigIntegerField(null=True)),
                ("vertex_id", models.CharField(max_length=64, null=True)),
                ("vertex_name", models.TextField(null=True)),
                ("subtask", models.BigIntegerField(null=True)),
                ("attempt", models.BigIntegerField(null=True)),
                ("execution_id", models.TextField(null=True)),
                ("container", models.TextField(null=True)),
                ("host", models.TextField(null=True)),
                ("reason", models.TextField(null=True)),
                ("fields", models.JSONField(null=True)),
                ("message", models.TextField(null=True)),
                ("detail", models.TextField(null=True)),
                ("file", models.TextField(null=True)),
                ("offset", models.BigIntegerField(null=True)),
                ("as_of", models.DateTimeField()),
            ],
            options={
                "indexes": [
                    models.Index(fields=["cluster", "job_id", "-ts", "-id"], name="log_event_of_job"),
                    models.Index(fields=["cluster", "-ts", "-id"], name="log_event_of_cluster"),
                    models.Index(fields=["ts"], name="log_event_age"),
                ],
                "constraints": [
                    models.UniqueConstraint(fields=("cluster", "process", "ts", "record_hash", "ordinal"), name="log_event_key")
                ],
            },
        ),
    ]
