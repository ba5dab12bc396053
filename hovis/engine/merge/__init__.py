"""Merges of control flow: keys of program points, joins of states, generalization, limits of unrolling."""
