"""What the compiler's text tells of a launch without running it: memory, stores, alignment."""
