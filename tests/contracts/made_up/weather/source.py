from pathlib import Path

from ingest.cluster_run import ClusterRun
from ingest.flink_rest.client import RestClient
from ingest.records import LogRecord, Observed
from ingest.source_declaration import Setting, Source, Turn
from ingest.source_read import ProbeNotes, SourceRead


async def read(run: ClusterRun) -> SourceRead:
    at, turns = run.shard.at(), run.cursor_of("weather").get("turns", 0)
    url = run.cluster.settings["weather_url"]
    async with run.count_requests(RestClient(url, gate=run.shard.gates.of(url))) as client:
        sky = (await client.get("/sky"))["sky"]
    record = LogRecord(
        "station", at, "INFO", "weather", f"{sky}, {turns}", f"{turns:032}", 0, "sky", 0
    )
    return SourceRead(
        (Observed(run.cluster.name, at, "weather", (record,)),),
        {"turns": turns + 1},
        reachable=True,
    )


async def probe(run: ClusterRun, notes: ProbeNotes) -> None:
    found = await read(run)
    notes.sees += [f"weather: {len(found.observed)} station"]


def read_almanac(run: ClusterRun) -> SourceRead:
    return SourceRead(
        (), {"read": (Path(run.cluster.settings["almanac_dir"]) / "almanac.txt").read_text()}
    )


SOURCES = (
    Source(
        "weather",
        Turn.ADDITIONAL,
        "ingest.weather.source:read",
        applies=lambda run: run.cluster.settings.get("weather_url"),
        settings=(Setting("weather_url", "address", "--weather"),),
        subject="The weather station",
        probe="ingest.weather.source:probe",
    ),
    Source(
        "almanac",
        Turn.ADDITIONAL,
        "ingest.weather.source:read_almanac",
        applies=lambda run: run.cluster.settings.get("almanac_dir"),
        settings=(Setting("almanac_dir", "place", "--almanac"),),
        files=True,
    ),
)
