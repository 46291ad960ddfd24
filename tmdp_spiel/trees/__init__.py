"""The Tree MDP in memory: what a learner may know of it, what is true of it, and the walks over both."""

from tmdp_spiel.trees import compiled_code

compiled_code.cover_imports()
