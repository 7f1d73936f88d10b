"""Every kernel that is compiled and launched while a candidate runs, and how its launch reads in a record."""
