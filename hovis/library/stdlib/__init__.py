"""Rows and models for modules of the standard library."""
