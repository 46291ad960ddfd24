"""Trees of information states (what a learner may know), Tree MDPs (the true probabilities), and traversals of both."""
