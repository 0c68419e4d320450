"""Threads of tasks that were slow to start, as the API has them."""

from rest_framework import serializers

from webapp.profiles.models import StartingThread


class StartingThreadSerializer(serializers.ModelSerializer[StartingThread]):
    """What a task did that was slow to start, by a thread dump taken meanwhile."""

    after_ms = serializers.IntegerField(
        help_text="of the dump, since the deployment of the task began",
    )

    class Meta:
        model = StartingThread
        fields = (
            "vertex_id",
            "vertex",
            "subtask",
            "taskmanager_id",
            "state",
            "deploying_at",
            "at",
            "after_ms",
            "sentence",
            "frames",
        )
