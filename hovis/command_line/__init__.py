"""What is written on the command line: arguments, and the functions and values that files hold."""
