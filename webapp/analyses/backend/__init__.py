"""The state backend of a job: RocksDB by its own metrics, which input the state waits for, and the
relevant options.
"""
