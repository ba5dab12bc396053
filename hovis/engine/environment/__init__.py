"""Reads of the environment while tracing, and the guards with which a residual tests that they still hold."""
