"""Rows for subscripts, views and stores."""
