"""A residual as a module of its own, which imports without hovis."""
