"""Forward mode: tangents beside values."""
