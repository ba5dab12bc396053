"""The entry of a residual: arguments are checked and taken apart, and what was read of the environment is tested."""
