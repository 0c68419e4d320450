"""Enough on every storage page: a recorded tree that is a root, two audits of it, and what a rule
by age would have done.
"""

from datetime import datetime, timedelta
from itertools import pairwise
from pathlib import Path

from tests.storage_trees import lay_out
from tests.webapp.storage.builders import (
    audit,
    chain,
    checkpoint_storage,
    doubt,
    file_row,
    job_storage,
    missing,
    root,
    root_figures,
    verdict_figures,
    write_run,
)

TREE = "1.20.5-H"
ROOT = f"file:/opt/l/lab/run/{TREE}"
CHECKPOINT = f"{ROOT}/ckpt/0e0a9226e66450b804703de8c16027eb/chk-11"
OTHER = f"{ROOT}/ckpt/bdf1ec0616b053f727c2eabd7b90fed4/chk-8"
LONG_NAME = "<b>" + "n" * 200


def fill_storage(folder: Path, now: datetime) -> None:
    lay_out(TREE, folder / "tree")
    root(ROOT, read_at=str(folder / "tree"))
    root(f"s3://a-bucket-with-a-name/{'very-' * 40}long/path")
    root_figures(
        audit("storage-1", as_of=now - timedelta(hours=6), roots=[ROOT]), ROOT, recent_bytes=200_000
    )
    rows = [file_row(f"{ROOT}/{number:03d}", "storage-2", root=ROOT) for number in range(120)]
    path = write_run(folder / "run", "storage-2", {"storage_file": [rows]})
    of = audit(
        "storage-2",
        as_of=now - timedelta(minutes=5),
        roots=[ROOT],
        files_kept=True,
        manifest_path=path,
        run_dir=str(folder / "run"),
    )
    root_figures(
        of,
        ROOT,
        missing_files=2,
        missing_bytes=200,
        cleanable=False,
        not_cleanable=["in_doubt"],
        doubts=1,
    )
    verdict_figures(of, ROOT)
    jobs = [f"{number:032x}" for number in range(1, 5)]
    for job_id in jobs:
        job_storage(
            of,
            job_id,
            ROOT,
            cluster="",
            job_name=LONG_NAME,
            orphan_files=3,
            orphan_bytes=300_000,
            bytes=1_300_000,
        )
    for older, newer in pairwise(jobs):
        chain(of, newer, older, ROOT)
    for number, place in ((11, CHECKPOINT), (8, OTHER)):
        checkpoint_storage(
            of,
            number,
            place.split("/")[-2],
            ROOT,
            metadata_path=f"{place}/_metadata",
            missing_files=2,
            resolvable=False,
        )
    missing(of, f"{ROOT}/gone/{'x' * 200}", ROOT, metadata_path=f"{CHECKPOINT}/_metadata")
    doubt(of)
