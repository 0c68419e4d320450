"""What TaskManagers have, what jobs use of it, and what would be saved."""
