"""Functions with rules of their own (kernels): primitives, and the form of their calls in a trace."""
