"""The due work of NameNodes: there while one is declared, or while a finding of one that was is open."""

from webapp.filesystem_calls import namenode_findings
from webapp.work.registry import MAINTAIN_TASK, MINUTE_S, Work, register

register(
    Work(
        namenode_findings.KEY,
        MAINTAIN_TASK,
        every=lambda: {namenode_findings.KEY: MINUTE_S} if namenode_findings.is_wanted() else {},
        do=namenode_findings.judge_all,
    )
)
