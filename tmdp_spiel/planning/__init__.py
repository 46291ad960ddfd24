"""The best plan by estimates and bounds: by full passes over the tree, and incrementally."""
