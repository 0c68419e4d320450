"""The manifest of a run: its outputs, the commits that it read, and the state for the next run. It
is written last: without it a run is not valid.
"""

import json
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from typing import Any

import fsspec
import pyarrow as pa
from fsspec.implementations.local import LocalFileSystem

from ingest.lake.derived import ALL_TABLES
from ingest.storage.tree import renames
from spark_jobs.paths import absolute_root

FORMAT = 1
NAME = "manifest.json"


class BadManifest(Exception):
    """A manifest that cannot be used, or a run that differs from it."""


@dataclass(frozen=True)
class Output:
    rows: int
    files: tuple[str, ...] = ()


@dataclass(frozen=True)
class Manifest:
    job: str
    attempt: str
    from_seq: dict[str, int]
    to_seq: dict[str, int]
    tables: dict[str, Output]
    state: dict[str, tuple[str, ...]]
    started_at: datetime
    finished_at: datetime
    retracted: dict[str, Output] = field(default_factory=dict)
    """Keys of earlier runs' rows, to be deleted before ``tables`` are loaded."""
    run_dir: str = field(default="", compare=False)

    def state_files(self, *names: str) -> list[str]:
        """Addresses of the files of states (default: all)."""
        root = absolute_root(self.run_dir)
        return [
            f"{root}/{file}" for name in names or self.state for file in self.state.get(name, ())
        ]

    def as_json(self) -> dict[str, Any]:
        values = asdict(self)
        return {
            "format": FORMAT,
            "from": self.from_seq,
            "to": self.to_seq,
            **{name: values[name] for name in ("job", "attempt", "tables", "retracted", "state")},
            "started_at": self.started_at.astimezone(UTC).isoformat(),
            "finished_at": self.finished_at.astimezone(UTC).isoformat(),
        }


def write(manifest: Manifest, run_dir: str) -> str:
    """Readers see all of it or nothing; returns its address."""
    target = f"{run_dir.rstrip('/')}/{NAME}"
    filesystem, path = fsspec.core.url_to_fs(target)
    filesystem.makedirs(path.rsplit("/", 1)[0], exist_ok=True)
    body = json.dumps(manifest.as_json(), indent=1, sort_keys=True).encode()
    # Object stores write a file atomically; elsewhere a rename does.
    if isinstance(filesystem, LocalFileSystem) or renames(filesystem):
        part = f"{path}.{manifest.attempt}.part"
        filesystem.pipe_file(part, body)
        filesystem.mv(part, path)
    else:
        filesystem.pipe_file(path, body)
    return target


def read(uri: str) -> Manifest:
    """Raises BadManifest if the file is missing, torn or of another format."""
    filesystem, path = fsspec.core.url_to_fs(uri)
    try:
        raw = json.loads(filesystem.cat_file(path))
        return _from_json(raw, uri.rsplit("/", 1)[0])
    except (FileNotFoundError, NotADirectoryError, IsADirectoryError) as error:
        raise BadManifest(
            f"There is no manifest at {uri}; name the manifest.json of a complete run."
        ) from error
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise BadManifest(
            f"The manifest at {uri} is not one of format {FORMAT} ({error}); name that of a "
            "complete run."
        ) from error


def is_damage(error: BaseException) -> bool:
    """Whether the error means that a file is missing, torn or damaged, not unreachable."""
    # Arrow reports some undecodable files as a plain OSError without errno.
    return isinstance(
        error, pa.ArrowException | FileNotFoundError | NotADirectoryError | IsADirectoryError
    ) or (type(error) is OSError and error.errno is None)


def _from_json(raw: dict[str, Any], run_dir: str) -> Manifest:
    if raw["format"] != FORMAT:
        raise ValueError(f"format {raw['format']}")
    unknown = (raw["from"].keys() | raw["to"].keys()) - ALL_TABLES.keys()
    if unknown:
        raise ValueError(f"unknown lake tables {', '.join(sorted(unknown))}")
    return Manifest(
        job=raw["job"],
        attempt=raw["attempt"],
        from_seq={name: int(seq) for name, seq in raw["from"].items()},
        to_seq={name: int(seq) for name, seq in raw["to"].items()},
        tables=_outputs(raw["tables"]),
        retracted=_outputs(raw.get("retracted", {})),
        state={name: tuple(files) for name, files in raw["state"].items()},
        started_at=datetime.fromisoformat(raw["started_at"]),
        finished_at=datetime.fromisoformat(raw["finished_at"]),
        run_dir=run_dir,
    )


def _outputs(raw: dict[str, Any]) -> dict[str, Output]:
    return {
        name: Output(int(output["rows"]), tuple(output["files"])) for name, output in raw.items()
    }
