"""Lower bounds on the number of episodes of identification: the characteristic time of Garivier and Kaufmann (2016)."""
