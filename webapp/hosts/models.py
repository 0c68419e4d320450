from django.db import models

from webapp.lib.scoped_rows import JobRow, scoped

HOST_LENGTH = 300


@scoped()
class JobHost(JobRow):
    """Serving table ``job_host``: the subtasks of one job on one host, now or last."""

    host = models.CharField(max_length=HOST_LENGTH)
    subtasks = models.BigIntegerField()
    slots = models.BigIntegerField()
    vertices = models.BigIntegerField()
    first_seen_at = models.DateTimeField()
    left_at = models.DateTimeField(null=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["cluster", "job_id", "host"], name="job_host_key")
        ]
        indexes = [
            models.Index(fields=["host", "cluster", "id"], name="job_host_of_host"),
            models.Index(fields=["left_at"], name="job_host_left"),
        ]


@scoped()
class HostLoad(models.Model):
    """The load of one host now, summed by :mod:`webapp.hosts.loads`. Idle hosts have no row."""

    cluster = models.CharField(max_length=100)
    host = models.CharField(max_length=HOST_LENGTH)
    jobs = models.BigIntegerField()
    subtasks = models.BigIntegerField()
    slots = models.BigIntegerField()

    class Meta:
        constraints = [models.UniqueConstraint(fields=["cluster", "host"], name="host_load_key")]

    def __str__(self) -> str:
        return f"{self.subtasks} subtasks of {self.jobs} jobs on {self.host}"


@scoped()
class HostDay(models.Model):
    """Events on a host by UTC day, counted by :mod:`webapp.hosts.days`. Quiet days have no row."""

    cluster = models.CharField(max_length=100)
    host = models.CharField(max_length=HOST_LENGTH)
    day = models.DateField()
    declines = models.IntegerField()
    expired = models.IntegerField()
    failures = models.IntegerField()
    last_at = models.DateTimeField()

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["cluster", "host", "day"], name="host_day_key")
        ]
        indexes = [models.Index(fields=["day", "cluster"], name="host_day_of_cluster")]

    def __str__(self) -> str:
        return f"{self.host} on {self.day}"


@scoped()
class HostEvent(JobRow):
    """Serving table ``host_event``: an event of one job on one host."""

    host = models.CharField(max_length=HOST_LENGTH)
    at = models.DateTimeField()
    kind = models.CharField(max_length=32)
    subject = models.CharField(max_length=300)
    taskmanager_id = models.TextField(null=True)
    vertex_name = models.TextField(null=True)
    subtask = models.BigIntegerField(null=True)
    checkpoint_id = models.BigIntegerField(null=True)
    trigger_time = models.DateTimeField(null=True)
    detail = models.TextField(null=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["cluster", "job_id", "host", "at", "kind", "subject"], name="host_event_key"
            )
        ]
        indexes = [
            models.Index(fields=["host", "-at", "-id"], name="host_event_of_host"),
            models.Index(fields=["-at", "-id"], name="host_event_newest"),
            models.Index(fields=["cluster", "-at", "-id"], name="host_event_of_cluster"),
        ]


@scoped()
class TaskManagerLife(models.Model):
    """Serving table ``taskmanager_life``: one life of a TaskManager, and how it ended."""

    cluster = models.CharField(max_length=100)
    taskmanager_id = models.CharField(max_length=HOST_LENGTH)
    life = models.BigIntegerField()
    host = models.CharField(max_length=HOST_LENGTH)
    born_at = models.DateTimeField(null=True)
    last_seen_at = models.DateTimeField(null=True)
    ended_at = models.DateTimeField(null=True)
    ended_by = models.CharField(max_length=32, null=True)
    exit_code = models.BigIntegerField(null=True)
    detail = models.TextField(null=True)
    slots = models.BigIntegerField(null=True)
    process_memory_bytes = models.BigIntegerField(null=True)
    heap_max_bytes = models.BigIntegerField(null=True)
    managed_memory_bytes = models.BigIntegerField(null=True)
    network_memory_bytes = models.BigIntegerField(null=True)
    as_of = models.DateTimeField()

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["cluster", "taskmanager_id", "life"], name="taskmanager_life_key"
            )
        ]
        indexes = [
            models.Index(fields=["-ended_at", "-id"], name="taskmanager_life_ended"),
            models.Index(fields=["host", "-ended_at"], name="taskmanager_life_of_host"),
        ]

    def __str__(self) -> str:
        return f"TaskManager {self.taskmanager_id} on {self.host}"
