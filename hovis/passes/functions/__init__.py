"""Passes over residual functions and the calls between them."""
