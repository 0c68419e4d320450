"""The state backend of a job: RocksDB by its own metrics, which input state waits for, and the
options that decide it.
"""
