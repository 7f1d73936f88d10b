"""From a candidate to its verdict: the tiers, cheapest first, and how often a flaky fault is asked again."""
