"""Thread dumps, one row a TaskManager, and threads of tasks that were slow to start."""

from django.db import models

from webapp.lib.messages.fields import MessageField, MessagesField
from webapp.lib.scoped_rows import scoped
from webapp.profiles.choices import ThreadDumpState


@scoped()
class ThreadDump(models.Model):
    """The newest thread dump of a TaskManager, and whether somebody waits for the next: a collect
    cycle asks where ``ask_at`` has come.

    ``state`` is what became of the last request; ``threads`` are those of the last dump that came,
    tasks first, each an object with the fields of
    :class:`spark_jobs.diagnosis.thread_dumps.DumpedThread` and ``in_a_row``: in how many dumps it
    stood at one place.
    """

    cluster = models.CharField(max_length=100)
    taskmanager_id = models.CharField(max_length=300)
    wanted_at = models.DateTimeField()
    wanted_by = models.CharField(max_length=150, blank=True)
    ask_at = models.DateTimeField(null=True)
    asked = models.PositiveSmallIntegerField(default=0, help_text="requests since it was wanted")
    state = models.CharField(
        max_length=16, choices=ThreadDumpState.choices, default=ThreadDumpState.WANTED
    )
    answered_at = models.DateTimeField(null=True)
    note = MessageField(blank=True, help_text="why there is no dump")
    taken_at = models.DateTimeField(null=True)
    threads = MessagesField(default=list)
    threads_left_out = models.BigIntegerField(default=0)
    deadlocks = MessagesField(default=list, help_text="sentences")

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["cluster", "taskmanager_id"], name="thread_dump_key")
        ]
        indexes = [
            models.Index(fields=["ask_at"], name="thread_dump_due"),
            models.Index(fields=["wanted_at"], name="thread_dump_age"),
        ]

    def __str__(self) -> str:
        return f"thread dump of {self.taskmanager_id} of {self.cluster}: {self.state}"


@scoped()
class StartingThread(models.Model):
    """What a task did that was slow to start: its thread in a dump that was taken meanwhile.

    ``state`` is that of the task, DEPLOYING or INITIALIZING; ``frames``: 'a.B.method:line',
    innermost first.
    """

    cluster = models.CharField(max_length=100)
    job_id = models.CharField(max_length=64)
    vertex_id = models.CharField(max_length=64)
    vertex = models.TextField(help_text="its name")
    subtask = models.BigIntegerField(help_text="0-based")
    taskmanager_id = models.CharField(max_length=300)
    state = models.CharField(max_length=16)
    deploying_at = models.DateTimeField(help_text="its deployment began")
    at = models.DateTimeField(help_text="by the JobManager's clock; the dump followed at once")
    sentence = MessageField(help_text="what the thread did")
    frames = models.JSONField(default=list)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["cluster", "job_id", "vertex_id", "subtask", "at"],
                name="starting_thread_key",
            ),
        ]
        indexes = [models.Index(fields=["at"], name="starting_thread_age")]

    def __str__(self) -> str:
        return f"{self.vertex[:80]}/{self.subtask} of {self.job_id} while it started"

    @property
    def after_ms(self) -> int:
        """Since its deployment began."""
        return round((self.at - self.deploying_at).total_seconds() * 1000)
