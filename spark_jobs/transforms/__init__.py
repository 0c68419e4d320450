"""DataFrame → DataFrame, for volume: samples, files, log text.

No session, path, environment or clock. Only the DataFrame API, since the same code runs on Spark
Connect. The same row may come several times, so fold by the table's identity first; ``select`` the
contract when leaving.
"""
