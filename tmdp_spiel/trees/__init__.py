"""Tree MDPs: what a learner may know of one, what is true of it, and traversals of both."""
