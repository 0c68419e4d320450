import json
import math
import os
from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path

from ingest.prometheus.rows import Series
from ingest.pushed.metric_sample import Sample
from ingest.pushed.spool import Behind, SharedFolder

MINUTE_S = 60
MAX_BYTES = 256 * 1024 * 1024
MAX_FILES = 180
AHEAD_S = 600
BEHIND_S = 3600


class MetricsSpool(SharedFolder):
    def take(self, samples: Iterable[Sample], now_s: float) -> int:
        """Store samples that are at most an hour old; returns their number. If there is no room,
        raises ``Behind`` and stores none. A line break precedes each sample, as it ends a line
        that a full disk cut off.
        """
        by_minute: dict[int, list[str]] = defaultdict(list)
        for sample in samples:
            if now_s - BEHIND_S <= sample.at_s <= now_s + AHEAD_S:
                by_minute[int(sample.at_s // MINUTE_S)].append(
                    "\n" + json.dumps([sample.name, dict(sample.labels), sample.at_s, sample.value])
                )
        with self.lock():
            self._check_room()
            for minute, lines in by_minute.items():
                with (self.folder / f"{minute}.jsonl").open("a", encoding="utf-8") as file:
                    file.writelines(lines)
                    file.flush()
                    os.fsync(file.fileno())
        return sum(map(len, by_minute.values()))

    def _check_room(self) -> None:
        files = list(self.folder.glob("*.jsonl"))
        size = sum(path.stat().st_size for path in files)
        if size > MAX_BYTES or len(files) > MAX_FILES:
            raise Behind(
                f"{size:,} bytes of samples that were pushed are not read yet; the collector "
                "has to catch up first."
            )
        self.check_disk()

    def forget(self, until_s: float) -> None:
        with self.lock():
            for path in self._files():
                if (int(path.stem) + 1) * MINUTE_S <= until_s:
                    path.unlink()

    def read(self, after_s: float, until_s: float, step_s: int) -> list[Series]:
        """The value at each step is that of the newest sample since the previous step."""
        newest: dict[tuple[str, tuple[tuple[str, str], ...]], dict[int, tuple[float, float]]] = (
            defaultdict(dict)
        )
        for path in self._files():
            minute_s = int(path.stem) * MINUTE_S
            if minute_s > until_s or minute_s + MINUTE_S <= after_s - step_s:
                continue
            with path.open(encoding="utf-8", errors="replace") as file:
                for line in file:
                    sample = _sample(line)
                    step = -int(-sample.at_s // step_s) * step_s if sample else 0
                    if sample and after_s < step <= until_s:
                        steps = newest[sample.name, sample.labels]
                        steps[step] = max(steps.get(step, (0.0, 0.0)), (sample.at_s, sample.value))
        return [
            Series(
                {"__name__": name, **dict(labels)},
                tuple((float(step), value) for step, (_, value) in sorted(steps.items())),
            )
            for (name, labels), steps in sorted(newest.items())
        ]

    def _files(self) -> list[Path]:
        return sorted(
            (path for path in self.folder.glob("*.jsonl") if path.stem.isdigit()),
            key=lambda path: int(path.stem),
        )


def _sample(line: str) -> Sample | None:
    try:
        name, labels, at_s, value = json.loads(line)
        sample = Sample(str(name), tuple(labels.items()), float(at_s), float(value))
        return sample if math.isfinite(sample.at_s) else None
    except (ValueError, TypeError, AttributeError):
        return None  # an empty line, or one that was cut off and not confirmed to its sender
