"""What people start by hand: the command line. Nothing in the library imports this package."""
