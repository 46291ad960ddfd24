"""One learning algorithm a file."""
