"""Functions with rules of their own: primitives, and what their calls are in a trace."""
