"""Binaries that parse flags and call the library."""
