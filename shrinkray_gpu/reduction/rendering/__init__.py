"""The renderer: a Program and any subset of a pass's Edits in, a Program that parses out."""
