"""What each function of NumPy gives: shapes, dtypes, effects, what shares memory."""
