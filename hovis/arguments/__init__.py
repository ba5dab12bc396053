"""Specs: what the caller says of arguments, and how they bind to parameters."""
