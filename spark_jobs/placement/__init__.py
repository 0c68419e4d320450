"""Where the tasks of a job run, and where they would run if balanced by
``taskmanager.load-balance.mode: TASKS`` (2.2, FLIP-370): tasks go to the slot with the fewest
tasks, and slots of equal content are distributed over the TaskManagers. A *slot* holds at most one
subtask of each vertex (slot sharing).
"""
