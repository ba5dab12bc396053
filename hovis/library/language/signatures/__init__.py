"""The language that rules for calls are written in, and what rules ask of types and of known values."""
