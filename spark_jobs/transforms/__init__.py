"""DataFrame → DataFrame, for volume: samples, files, log text. No session, path, environment or
clock. The same row may come several times: fold by the table's identity first.
"""
