"""Lowering rules for arrays whose size is known at run time only."""
