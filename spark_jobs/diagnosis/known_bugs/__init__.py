"""Known bugs of Flink and of what runs in it.

To add one: an entry in the file of its area, with releases and sources; a case in
``tests/diagnosis/known_bugs/cases.py`` (a job that it can hit, near misses by release and by
configuration); then ``manage.py translations lib`` and ``manage.py generate_docs``. Leave out what
no source proves.

Examined and left out, since no public source proves their releases, or no release has them:
FLINK-26985, 35857, 37021, 37367, 38909, 39210, 39482, 40379, 40387, iceberg 17315, paimon 9795.
"""

from spark_jobs.diagnosis.known_bugs import checkpoints, connectors, coordination, restores, tasks
from spark_jobs.diagnosis.known_bugs.bug import KnownBug

KNOWN_BUGS: tuple[KnownBug, ...] = (
    *checkpoints.BUGS,
    *restores.BUGS,
    *coordination.BUGS,
    *tasks.BUGS,
    *connectors.BUGS,
)
BY_ISSUE = {bug.issue: bug for bug in KNOWN_BUGS}
