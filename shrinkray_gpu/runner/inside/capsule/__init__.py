"""Capsules: what a program in production leaves of the launch that broke it, for a reduction elsewhere.

`ring` keeps what the last launches were made of, for a few microseconds each. `hook` puts it into the program, and
sees the error. `writing` makes one JSON file of both, in the form of `capsule_schema`. `recording` is the second run,
which writes down what tensors hold as well. All of it runs in the user's program, so no error of ours may leave it.
"""
