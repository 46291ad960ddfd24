"""Opponents: from anything that a user gives to who plays as which player, and episodes against them."""
