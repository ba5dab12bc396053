"""Rewrites of generated source towards what a person would write."""
