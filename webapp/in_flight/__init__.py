"""Data in flight between the tasks of a job: how much it can be, how much unaligned checkpoints persisted, and how to make it less."""
