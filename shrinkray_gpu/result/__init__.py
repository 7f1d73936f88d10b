"""What came out of a reduction: its summary, and `result.json`, from which it can be read again."""
