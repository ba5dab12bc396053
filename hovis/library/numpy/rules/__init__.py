"""Rules for the results of NumPy's functions: shapes, dtypes, effects, and shared memory."""
