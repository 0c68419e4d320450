from webapp.fleet.models import Cluster


def label_names() -> list[str]:
    labels = Cluster.objects.exclude(labels={}).values_list("labels", flat=True)
    return sorted({name for label in labels for name in label})
