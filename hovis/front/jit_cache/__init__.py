"""Cache of the residuals of a jitted function: the keys of the residuals, and facts about the function and its calls."""
