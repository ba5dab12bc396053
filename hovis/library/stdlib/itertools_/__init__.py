"""Stand-ins for the iterators of itertools: one module for each of the three kinds in its documentation."""
