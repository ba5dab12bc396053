"""Writing a residual as a standalone module, which imports without hovis."""
