"""How state and uploads of jobs grow over days, and how jobs meet objectives."""
