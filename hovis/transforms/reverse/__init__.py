"""Reverse mode: the reversed control flow, what it needs of the forward pass, and cotangents."""
