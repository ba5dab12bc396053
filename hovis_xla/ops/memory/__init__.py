"""Lowering rules for lists that grow, and for tapes."""
