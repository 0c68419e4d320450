"""Where the tasks of a job run, and where they would run balanced: arrays of the plan, without
Spark, clock or source.

A *slot* holds at most one subtask of each vertex (slot sharing); a TaskManager has a fixed number
of slots. Both rules simulated here are those of large fleets: tasks go to the slot with the fewest
tasks, and slots of equal content are dealt out over the TaskManagers. Flink has them as
``taskmanager.load-balance.mode: TASKS`` since 2.2 (FLIP-370).
"""
