"""Answers of Flink's REST API → records: a file for each endpoint.

Each is a pure function of the decoded answer. Units are settled here, and so is what is unknown
(Flink's -1 and NaN). A bad shape raises ``Skipped`` with the path of the field. Test it with
recorded answers of several versions and with a hostile one.
"""
