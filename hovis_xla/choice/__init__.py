"""Cost model: what is worth a call of XLA."""
