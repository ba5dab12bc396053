"""Analyses of Functions: loops and trip counts, integer ranges, stored arrays, side effects."""
