"""AMD's GPUs: figures of a kernel, from the text of its assembly."""
