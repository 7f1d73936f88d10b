"""A launch from a trace that tritonparse wrote, in place of a program that runs."""
