"""One candidate's process: messages, confinement, what it imports, what it leaves behind."""
