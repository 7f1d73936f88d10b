"""How a Program's source is read: its tree, scopes, calls, kernels and literals. Passes and lifting share it."""
