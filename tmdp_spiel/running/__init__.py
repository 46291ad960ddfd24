"""Plays learners against environments, measures them exactly, and keeps them on disk."""
