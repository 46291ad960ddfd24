"""Time and memory beside OpenSpiel and others."""
