"""How operator state of one operator grew, from its sizes in checkpoints. A restore gives a union
list to each subtask. If each subtask keeps the whole list, the list has subtasks^k times as many
elements after k restores.
"""

import math
from dataclasses import dataclass

from spark_jobs.diagnosis.storage_samples import OperatorStatePoint, OperatorStateTrend

_TOLERANCE = 0.05


@dataclass(frozen=True)
class Growth:
    """``since``: the oldest checkpoint with as many subtasks as the newest. ``ratio``: of elements
    or bytes, whichever grew more. ``restores``: how many at least multiplied union elements by the
    number of subtasks.
    """

    since: OperatorStatePoint
    newest: OperatorStatePoint
    ratio: float
    restores: int


def growth(trend: OperatorStateTrend) -> Growth | None:
    """None if no older checkpoint has as many subtasks: other sizes are not comparable."""
    newest = trend.newest
    comparable = [point for point in trend.points if point.subtasks == newest.subtasks]
    since = comparable[0]
    if since is newest:
        return None
    elements = newest.elements / since.elements if since.elements else 0.0
    size = newest.operator_bytes / since.operator_bytes if since.operator_bytes else 0.0
    steps = zip(trend.points, trend.points[1:], strict=False)
    return Growth(
        since, newest, max(elements, size), sum(_restores(before, after) for before, after in steps)
    )


def _restores(before: OperatorStatePoint, after: OperatorStatePoint) -> int:
    """0 if restores do not explain the union elements of ``after``."""
    if (
        after.subtasks < 2
        or before.union_elements < 1
        or after.union_elements < 2 * before.union_elements
    ):
        return 0
    ratio = after.union_elements / before.union_elements
    restores = round(math.log(ratio) / math.log(after.subtasks))
    return (
        restores if restores >= 1 and abs(ratio / after.subtasks**restores - 1) <= _TOLERANCE else 0
    )
