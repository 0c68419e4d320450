"""What every query of a model begins with is made once, and no query leaves anything in it."""

from webapp.alerting.models import Alert


def told() -> tuple[str, dict[str, list[str]]]:
    """A query that joins its table with itself and stands in another one; and the tables of a new query."""
    among = Alert.objects.filter(inhibited_by__cluster="prod-eu").values("pk")
    return str(Alert.objects.filter(inhibited_by__inhibited_by__in=among).query), Alert.objects.all().query.table_map


def test_no_query_takes_over_the_joins_of_one_before() -> None:
    statement, tables = told()
    assert tables == {"alerting_alert": ["alerting_alert"]}
    for _ in range(3):
        assert told() == (statement, tables)
