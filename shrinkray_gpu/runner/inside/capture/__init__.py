"""What a launch is made of, written down so that a script with nothing but that launch can be made of it."""
