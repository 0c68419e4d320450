"""Whether an agent finds the root cause of a recorded incident, by Weir's tools and by what Flink
itself tells: its REST answers and its logs.

Each question has one truth, which is how the lab made the trouble (``questions.py``). A play is one
agent on one question with one set of tools (``play.py``). ``scoring.py`` compares its answer with
the truth, and shares no code with the diagnosis.
"""
