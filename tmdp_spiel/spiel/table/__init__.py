"""A learner at the table: a seat, and the bot and the agent that sit on it."""
