"""The best plan by estimates and bounds: by plain passes, and incrementally."""
