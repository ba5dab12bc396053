"""F2 and F4: what a call means, as data: ``core`` says how, the other modules what."""
