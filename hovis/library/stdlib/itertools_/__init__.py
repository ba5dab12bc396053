"""The iterators of itertools, as classes of Python code that stand for them: a module for each of the three kinds that its documentation tells apart."""
