"""How few episodes identification can take: the characteristic time of Garivier and Kaufmann (2016)."""
