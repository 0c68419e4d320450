"""By `manage.py stored_sentences`: sentences that code no longer has, and stored findings and reports do.

A line may be removed by hand once nothing that is stored can hold it.
"""
# ruff: noqa: E501
# fmt: off

from django.utils.translation import gettext_noop

RETIRED: tuple[tuple[str, str], ...] = (
    (gettext_noop("A job runs and has completed checkpoints, but none of them was found."), ""),
    (gettext_noop("Look for state without a time to live (StateTtlConfig, table.exec.state.ttl), keys that never come again, joins without a time bound, and windows that never fire because the watermark does not advance."), ""),
    (gettext_noop("More than one registered cluster has a job with this id."), ""),
    (gettext_noop("No cluster that Weir can see has reported this job: it counts as running."), ""),
    (gettext_noop("Requests for slots, deployments and partition requests time out while the tasks of the job are deployed."), ""),
    (gettext_noop("This audit is the first that found that nothing needs it; a second one must confirm it."), ""),
    (gettext_noop("it is a link that leads out of the folder"), ""),
)
