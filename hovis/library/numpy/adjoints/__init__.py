"""Functions that derivatives of NumPy programs compute with: tangents, cotangents, tapes, inverses."""
