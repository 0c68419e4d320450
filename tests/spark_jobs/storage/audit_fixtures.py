"""``python -m tests.spark_jobs.storage.audit_fixtures``: renew what audits of the recorded trees
found, for tests of the web.
"""

import gzip
import json
import sys
import tempfile
from datetime import datetime
from pathlib import Path
from typing import Any

from spark_jobs.audit_tables import AUDIT_TABLES
from tests.spark_jobs.storage.test_recorded import Recorded

FOLDER = Path(__file__).parents[2] / "fixtures" / "audits"


def main() -> int:
    with tempfile.TemporaryDirectory() as scratch:
        recorded = Recorded(Path(scratch), Path(scratch, "trees"))
        FOLDER.mkdir(parents=True, exist_ok=True)
        for name in "HIK":
            tables = {
                table: [_plain(row) for row in recorded.second.rows(table, name)]
                for table in AUDIT_TABLES
            }
            # No time of writing inside: the same rows are the same file.
            (FOLDER / f"1.20.5-{name}.json.gz").write_bytes(
                gzip.compress(json.dumps(tables, sort_keys=True).encode(), mtime=0)
            )
            print(f"{name}: {sum(map(len, tables.values()))} rows")
    return 0


def _plain(row: dict[str, Any]) -> dict[str, Any]:
    return {
        name: value.isoformat() if isinstance(value, datetime) else value
        for name, value in row.items()
    }


if __name__ == "__main__":
    sys.exit(main())
