"""Lowering rules for subscripts, views and stores."""
