"""Forward mode: tangents are computed beside values."""
