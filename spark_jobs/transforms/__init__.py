"""Transforms of large data: samples, files, log text; without path, environment or clock. Rows may
come several times, so they are first reduced to one for each identity.
"""
