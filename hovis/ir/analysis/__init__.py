"""Analyses of the IR: dominators and loops, live ranges, affine forms, strongly connected components."""
