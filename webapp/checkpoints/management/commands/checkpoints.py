from spark_jobs.serving import CHECKPOINT_FACT
from webapp.checkpoints.filters import CheckpointFilters
from webapp.checkpoints.models import CheckpointFact
from webapp.fleet.rows_command import RowsCommand


class Command(RowsCommand):
    help = (
        "Print what is known about checkpoints, by cluster, job and trigger time, one JSON "
        "object a line. Exit code 0, or 2 if the cluster or job is unknown."
    )
    model = CheckpointFact
    filters = CheckpointFilters
    order = ("cluster", "job_id", "trigger_time", "id")
    names = CHECKPOINT_FACT.column_names
