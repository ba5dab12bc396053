"""Floor 0: what everything else stands on, and what knows nothing of programs: trees, locks, signals, deadlines, files."""
