"""The entry of a residual: checks arguments, takes them apart, and tests what was read of the environment."""
