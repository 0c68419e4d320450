"""Whether a job restores from a snapshot: what the ``_metadata`` holds against what is known of the
job, as pure functions.

REST reports the job's vertices with their parallelism, and since 1.12 the backend's name. The
maximum parallelism of vertices is in ``/jobs/:id`` of all read releases (1.12 to 2.3), the setting
of the changelog since 1.16. No release reports operators within a chain, uids, serializers, or
whether a maximum parallelism was set or derived: the id of a vertex is that of the first operator
of its chain. All operators of a job are only in a ``_metadata`` of its own: every task that
acknowledges a checkpoint writes each operator of its chain, also those without state
(``PendingCheckpoint.acknowledgeTask``).

Whatever decides and is unknown makes the answer *unknown*, never *restores*.
"""
