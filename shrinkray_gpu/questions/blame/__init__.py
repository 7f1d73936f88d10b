"""Whose fault it is: the host program's, the kernel's, the data's, a part of the compiler's; and what that rests on."""
