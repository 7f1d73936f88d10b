"""A script and the modules of its own that it imports, made one file that does the same.

`module_files` says which file a module is, `units` reads it (what never runs on import is gone already, `import *` is
spelled out), `order` simulates the imports and so tells where each module's top level goes, `meaning` tells which
global of which module every name stands for, `naming` gives each of these globals a name of its own in the one file,
`writing` makes the text. A module that cannot be merged soundly raises Unmergeable; it stays an ordinary import, with
all that it imports, since a module that is there twice has its state twice.
"""
