"""Libraries of PyPI that interpret something known (a template, a grammar, a schema), unchanged, as their users call them."""
