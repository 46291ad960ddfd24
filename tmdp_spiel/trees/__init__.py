"""The Tree MDP in memory: what a learner may know of it, what is true of it, and the walks over both."""
