"""F2 and F4: the meaning of calls, as data. ``core`` defines the form of the rules, the other modules contain them."""
