"""Plans of files in other places than this machine, all of them orphans, with an audit that finds no
reference.
"""

import pickle
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path

from ingest.storage.plan_folder import PlanFolder
from ingest.storage.tree import Stat
from tests.webapp.cleanup.worlds import name_of_job, write_verdicts
from webapp.cleanup.applying import Applying
from webapp.cleanup.manifest import PlannedRoot, SearchedAudit
from webapp.cleanup.places import TreeFiles
from webapp.cleanup.plan_builder import PlanRequest, build
from webapp.cleanup.plan_reader import PlanReader
from webapp.cleanup.purging import purge
from webapp.cleanup.rate_limit import RateLimit
from webapp.cleanup.recheck import FreshAudit
from webapp.cleanup.run import Run
from webapp.cleanup.undoing import undo
from webapp.cleanup.watching import PlannedPaths, Watch


def planned(folder: PlanFolder, audit: FreshAudit, root: PlannedRoot, now: datetime) -> PlanReader:
    """The plan of what the audit found below the root."""
    request = PlanRequest(
        verdict_files=audit.verdict_files,
        audit_id=audit.audit_id,
        audits=[SearchedAudit(audit.audit_id, now.isoformat())],
        as_of=now,
        age_guard=timedelta(hours=72),
        searched_roots=[root.uri],
        roots=[root],
        withheld=[],
        created_at=now,
        created_by="olga",
        lifetime=timedelta(days=7),
        grace=timedelta(days=3),
    )
    return PlanReader(folder, build(request, folder)[0])


class RemotePlan:
    """``stats``: paths below the root, with what was listed of them."""

    def __init__(
        self, folder: Path, root: str, stats: Mapping[str, Stat], quarantine: str, way: str
    ) -> None:
        self.now = datetime.now(UTC) + timedelta(days=60)
        self.files, self.pace = TreeFiles(), RateLimit(None)
        rows = [
            {
                "root": root,
                "path": f"{root}/{below}",
                "listed_path": f"{root}/{below}",
                "bytes": stat.bytes,
                "modified": stat.modified,
                "first_seen_at": stat.modified,
                "verdict": "orphan",
                "reason": "unreferenced",
                "kind": "unknown",
                "place": "shared",
                "cluster": "prod",
                "job_id": name_of_job(1),
                "unreferenced_since": self.now - timedelta(hours=12),
            }
            for below, stat in stats.items()
        ]
        self._audit = FreshAudit(
            "audit", self.now, write_verdicts(folder / "verdicts", rows, "audit")
        )
        plan_folder = PlanFolder(str(folder / "plan"))
        planned_root = PlannedRoot(root, root, quarantine, way)
        self.reader = planned(plan_folder, self._audit, planned_root, self.now)
        (folder / "pickled").write_bytes(
            pickle.dumps((self.now, self._audit, plan_folder.uri, self.reader.name))
        )

    @classmethod
    def again(cls, folder: str) -> "RemotePlan":
        """In another process."""
        plan = cls.__new__(cls)
        plan.files, plan.pace = TreeFiles(), RateLimit(None)
        told = pickle.loads(Path(folder, "pickled").read_bytes())
        plan.now, plan._audit, uri, name = told
        plan.reader = PlanReader(PlanFolder(uri), name)
        return plan

    def fresh(self) -> FreshAudit:
        return self._audit

    def run(self) -> Run:
        reader = PlanReader(self.reader.folder, self.reader.name)
        return Run(reader, self.files, self.pace, lambda: self.now + timedelta(hours=1))

    def watch(self) -> Watch:
        planned = PlannedPaths(part["path"] for part in self.reader.parts())
        return Watch(lambda: iter(()), planned)

    def apply(self) -> dict[str, str]:
        Applying(self.run(), self, self.watch())()
        return self.outcomes("apply")

    def undo(self) -> dict[str, str]:
        undo(self.run())
        return self.outcomes("undo")

    def purge(self) -> dict[str, str]:
        purge(self.run(), self, self.watch())
        return self.outcomes("purge")

    def outcomes(self, verb: str) -> dict[str, str]:
        """Last part of the path → outcome; one row a file."""
        journal = self.run().journal(verb)
        rows = [row for chunk in journal.finished_chunks() for row in journal.read(chunk).rows]
        assert len({row.path for row in rows}) == len(rows)
        return {row.path.rpartition("/")[2]: row.outcome for row in rows}
