"""Plays learners against environments, measures them exactly, and saves checkpoints."""
