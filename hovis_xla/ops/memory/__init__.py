"""Rows for lists that grow, and for tapes."""
