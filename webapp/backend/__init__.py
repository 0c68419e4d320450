"""The state backend of jobs: options of RocksDB, and how it is by its own metrics."""
