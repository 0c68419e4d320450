from django.utils.translation import pgettext

from spark_jobs.diagnosis.findings import Threshold
from spark_jobs.diagnosis.registry import all_rules

CONTEXT = "threshold"
_UNITS = ("s", "ms", "h", "bytes", "ratio")


def words_of_key(threshold: Threshold, rule_id: str) -> str:
    """The words of the key without the unit at its end, which pages show beside the figure."""
    words = threshold.key.removeprefix(f"{rule_id}.").split("_")
    return " ".join(words[:-1] if len(words) > 1 and words[-1] in _UNITS else words)


def threshold_name(threshold: Threshold, rule_id: str) -> str:
    return pgettext(CONTEXT, words_of_key(threshold, rule_id))


def all_words() -> list[str]:
    return sorted(
        {
            words_of_key(threshold, rule.id)
            for rule in all_rules().values()
            for threshold in rule.thresholds
        }
    )
