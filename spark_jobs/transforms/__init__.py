"""Transforms of large data: samples, files, log text. They use no path, environment or clock. A row
may come several times, so they first reduce rows to one for each identity of the table.
"""
