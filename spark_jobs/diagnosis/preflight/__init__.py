"""Whether a job restores from a snapshot, by its ``_metadata`` and by what is known of the job.
REST reports vertices with their parallelism and maximum parallelism, the backend, and since 1.16
the changelog. No release reports operators within a chain, uids, serializers, or whether a maximum
parallelism was set or derived. Only a ``_metadata`` of the job itself has all its operators: a task
that acknowledges a checkpoint writes each operator of its chain, also without state
(``PendingCheckpoint.acknowledgeTask``). If a fact that decides is unknown, the answer is *unknown*,
never *restores*.
"""
