"""The table of known bugs."""

from spark_jobs.diagnosis.known_bugs import KNOWN_BUGS
from spark_jobs.diagnosis.known_bugs.bug import KnownBug
from spark_jobs.diagnosis.known_bugs.sources import READ_ON
from webapp.site.documentation.markdown import plain, table

HEAD = f"""# Known bugs

Weir holds these bugs of Flink against the release, the configuration and the findings of each job.
Beside a finding it says whether the finding proves a bug, or whether the bug may explain it. The
page *Known bugs*, linked from *Clusters*, lists for all jobs which bugs show, which can hit them,
and which another release takes away.

A bug is claimed only for a release of Apache Flink that was looked at. For a vendor's release such
as `1.17.1-stream1`, for a snapshot, and for releases newer than this table, Weir says that it does
not know. The table was read on {READ_ON.isoformat()}.

"""


def pages() -> dict[str, str]:
    heads = ("bug", "what happens", "only with", "releases", "way out", "read in")
    return {"reference/known-bugs.md": f"{HEAD}{table(heads, map(_row, KNOWN_BUGS))}\n"}


def _row(bug: KnownBug) -> tuple[str, ...]:
    read = ", ".join(
        f"[{number}]({address})" for number, address in enumerate(bug.sources, start=1)
    )
    return (
        f"[{bug.issue}]({bug.address})",
        plain(bug.effect),
        plain(bug.needs),
        plain(bug.releases.text),
        plain(bug.way_out),
        read,
    )
