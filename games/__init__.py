"""Games of our own, registered with OpenSpiel."""
