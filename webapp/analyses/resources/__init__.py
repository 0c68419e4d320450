"""Memory, CPU and slots of jobs against their use."""
