"""Opponents: converts whatever a user passes to a policy or bot for each player, and plays episodes against them."""
