"""How state, uploads and unreferenced files grow over days, and when a time-out is reached."""
