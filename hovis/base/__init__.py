"""Floor 0, the lowest layer, which knows nothing of traced programs: trees, locks, signals, deadlines, files."""
