from django.db import models

from webapp.lib.messages.fields import MessageField, MessagesField
from webapp.lib.scoped_rows import scoped
from webapp.lib.translations import gettext_lazy as _


class ThreadDumpState(models.TextChoices):
    WANTED = "wanted", _("not answered yet")
    TAKEN = "taken", _("taken")
    FAILED = "failed", _("no answer")


@scoped()
class ThreadDump(models.Model):
    """The newest thread dump of a TaskManager, and the last request of a dump. Collect cycles ask
    Flink from ``ask_at`` on; it is None if no dump is requested. ``state`` of the last request.
    ``threads`` of the last dump, tasks first: objects with the fields of
    :class:`spark_jobs.diagnosis.thread_dumps.DumpedThread`, ``place``, and ``in_a_row``, the number
    of latest dumps that have the thread at this place.
    """

    cluster = models.CharField(max_length=100)
    taskmanager_id = models.CharField(max_length=300)
    wanted_at = models.DateTimeField()
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
