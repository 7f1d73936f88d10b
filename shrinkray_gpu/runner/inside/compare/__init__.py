"""Two runs of one program compared launch by launch: recorded values, drawn numbers, bounds."""
