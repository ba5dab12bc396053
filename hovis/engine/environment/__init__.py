"""What the trace reads of its environment, and how a residual looks whether that still holds (guards)."""
