"""What the campaign does to the project: wrong calls, flipped bytes, kills, and hours of mixed use."""
