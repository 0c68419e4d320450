"""What the threads of a job's TaskManagers do: dumps that people ask for, as evidence for busy vertices and slow synchronous parts."""
