"""The interestingness test: the tiers that settle a candidate, cheapest first, and how often a flaky fault is asked."""
