"""Names of the kinds in files and their models, without what reads and writes them: every command
needs this much.
"""

MODEL_OF = {
    "clusters": "fleet.Cluster",
    "storage_roots": "storage.StorageRoot",
    "objectives": "growth.Objective",
    "rules": "alerting.RuleSetting",
    "thresholds": "findings.ThresholdOverride",
    "endpoints": "delivery.Endpoint",
    "silences": "alerting.Silence",
}
"""In the order in which they are applied: roots name clusters."""
