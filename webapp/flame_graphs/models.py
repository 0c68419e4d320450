"""What threads of a vertex do, one row per vertex."""

from django.db import models

from webapp.flame_graphs.choices import FlameGraphState
from webapp.lib.scoped_rows import scoped
from webapp.messages.fields import MessageField


@scoped()
class FlameGraph(models.Model):
    """The newest flame graph of a vertex, and whether somebody waits for the next: a collect cycle asks where ``ask_at`` has come.

    ``state`` is what became of the last request; ``frames`` are those of the last graph that came, [depth, name, samples] from the
    root on, depth first, with the figures beside them. They stay until there is a newer one.
    """

    cluster = models.CharField(max_length=100)
    job_id = models.CharField(max_length=64)
    vertex_id = models.CharField(max_length=64)
    wanted_subtask = models.BigIntegerField(null=True)
    wanted_at = models.DateTimeField()
    wanted_by = models.CharField(max_length=150, blank=True, help_text="empty: for a finding")
    ask_at = models.DateTimeField(null=True)
    asked = models.PositiveSmallIntegerField(default=0, help_text="requests since it was wanted")
    state = models.CharField(max_length=16, choices=FlameGraphState.choices, default=FlameGraphState.WANTED)
    answered_at = models.DateTimeField(null=True)
    note = MessageField(blank=True, help_text="why there is no graph")
    sampled_at = models.DateTimeField(null=True)
    subtask = models.BigIntegerField(null=True, help_text="0-based; null: all of the vertex")
    samples = models.BigIntegerField(null=True)
    method = models.TextField(blank=True, help_text="of the job's own code, the one with most samples")
    method_samples = models.BigIntegerField(null=True)
    sentence = MessageField(blank=True)
    frames = models.JSONField(default=list)
    frames_left_out = models.BigIntegerField(default=0)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["cluster", "job_id", "vertex_id"], name="flame_graph_key")]
        indexes = [models.Index(fields=["ask_at"], name="flame_graph_due"), models.Index(fields=["wanted_at"], name="flame_graph_age")]

    def __str__(self) -> str:
        return f"flame graph of {self.vertex_id} of {self.job_id}: {self.state}"
