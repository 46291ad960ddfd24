"""Learners as OpenSpiel bots and agents."""
