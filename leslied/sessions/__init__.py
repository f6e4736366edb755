"""Sessions: units, subagents, status, cost, comparison and retention. Pure."""
