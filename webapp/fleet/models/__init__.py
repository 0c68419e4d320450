from webapp.fleet.models.cluster import Cluster, RemovedCluster
from webapp.fleet.models.discovery import SourceReading
from webapp.fleet.models.events import RESTARTS_OF_MARK, JobAnnotation, JobException, LogEvent
from webapp.fleet.models.job import OVER, JobCurrent
from webapp.fleet.models.start import JobStart

__all__ = [
    "OVER",
    "RESTARTS_OF_MARK",
    "Cluster",
    "JobAnnotation",
    "JobCurrent",
    "JobException",
    "JobStart",
    "LogEvent",
    "RemovedCluster",
    "SourceReading",
]
