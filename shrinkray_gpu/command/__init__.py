"""`-m MODULE ARGS...` in place of a file: the module found, a driver script for it, a pytest test as plain calls."""
