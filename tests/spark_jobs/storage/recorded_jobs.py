"""The jobs of a recorded tree as an audit is told of them: all ended, restored from one another as
recorded.
"""

import re
from datetime import UTC, datetime
from typing import Any

from tests.storage_trees import RecordedTree

RESTORED = {
    "6ced19": ("529e89", 6), "548495": ("6ced19", 9), "ac2c41": ("548495", 12),
    "a543f5": ("529e89", 6), "84a450": ("a543f5", 9),
    "bdf1ec": ("529e89", 6), "0e0a92": ("bdf1ec", 9), "4627ee": ("0e0a92", 12),
}  # fmt: skip
"""Job → job and checkpoint it was restored from, as recorded: LEGACY, default (NO_CLAIM) and
CLAIM.
"""
JOB_ID = re.compile("[0-9a-f]{32}")


CHECKPOINT = re.compile("(.*/[0-9a-f]{32}/chk-([0-9]+))/_metadata$")


def _last_completed(tree: RecordedTree, job: str) -> dict[str, Any]:
    """Its newest checkpoint, as its cluster would have reported it: one that lies there, or that
    another job took over.
    """
    found = [
        (int(match[2]), file.modified)
        for file in tree.files
        if job in file.path and (match := CHECKPOINT.match(file.path))
    ]
    taken_over = [number for origin, number in RESTORED.values() if job.startswith(origin)]
    if not found:
        return {"last_completed_path": tree.uri(f"ckpt/{job}/chk-1")}
    number = max([*taken_over, *(number for number, _ in found)])
    at = datetime.fromtimestamp(max(modified for _, modified in found), UTC)
    return {
        "last_completed_id": number,
        "last_completed_path": tree.uri(f"ckpt/{job}/chk-{number}"),
        "last_completed_at": at,
    }


def recorded_jobs(tree: RecordedTree) -> list[dict[str, Any]]:
    ids = {found[0] for file in tree.files if (found := JOB_ID.search(file.path))}
    rows = []
    for job in sorted(ids):
        origin, number = RESTORED.get(job[:6], ("", 0))
        path = next(
            (
                f"file://{tree.uri(f'ckpt/{one}/chk-{number}')[5:]}"
                for one in ids
                if origin and one.startswith(origin)
            ),
            None,
        )
        first = min(file.modified for file in tree.files if job in file.path)
        restored_at = datetime.fromtimestamp(first - 1, UTC) if path else None
        of_job = {
            "cluster": "lab",
            "job_id": job,
            "terminal": True,
            "seen": True,
            "restored_path": path,
            "restored_at": restored_at,
        }
        rows.append(of_job | _last_completed(tree, job))
    return rows
