"""Words of codes on pages: kinds of subjects, levels of confidence, states of a vertex."""

from django.utils.translation import gettext_noop

CODE_WORDS = (
    gettext_noop("job"),
    gettext_noop("vertex"),
    gettext_noop("subtask"),
    gettext_noop("taskmanager"),
    gettext_noop("checkpoint"),
    gettext_noop("cluster"),
    gettext_noop("root"),
    gettext_noop("host"),
    gettext_noop("low"),
    gettext_noop("medium"),
    gettext_noop("high"),
    gettext_noop("start delay"),
    gettext_noop("alignment"),
    gettext_noop("sync"),
    gettext_noop("async"),
    gettext_noop("flows"),
    gettext_noop("waits"),
    gettext_noop("held"),
    gettext_noop("ok"),
    gettext_noop("name"),
    gettext_noop("ratio"),
    gettext_noop("waits for work"),
    gettext_noop("waits for room in its output"),
    gettext_noop("is blocked by a lock"),
    gettext_noop("is in RocksDB"),
    gettext_noop("runs"),
)
