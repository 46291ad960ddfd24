"""Time and memory, compared with OpenSpiel and others."""
