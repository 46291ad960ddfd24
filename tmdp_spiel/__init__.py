"""Best responses against fixed opponents in OpenSpiel games."""
