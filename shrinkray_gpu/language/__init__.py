"""What the languages of a program look like, for whoever reads its text. Nothing here knows of reduction."""
