"""Programs that are recorded as they run, and their derivatives."""
