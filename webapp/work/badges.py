"""How states of runs look."""

from webapp.lib.badges import UNKNOWN, Badge
from webapp.work.models import PipelineRun

RUN_BADGES: dict[str, Badge] = {
    PipelineRun.State.RUNNING: Badge("running", "○", "done"),
    PipelineRun.State.DONE: Badge("done", "●", "ok"),
    PipelineRun.State.FAILED: Badge("failed", "▲", "crit"),
    PipelineRun.State.ABANDONED: Badge("abandoned", "◆", "warn"),
}


def run_badge(state: str) -> Badge:
    return RUN_BADGES.get(state, UNKNOWN)
