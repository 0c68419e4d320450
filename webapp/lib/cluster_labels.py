from django.apps import apps


def label_names() -> list[str]:
    clusters = apps.get_model("fleet", "Cluster")._default_manager.exclude(labels={})
    return sorted({name for labels in clusters.values_list("labels", flat=True) for name in labels})
