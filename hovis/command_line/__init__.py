"""Reading of the command line: its arguments, and the functions and values that files hold."""
