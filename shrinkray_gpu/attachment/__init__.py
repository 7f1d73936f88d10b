"""The attachment: all that an upstream maintainer asks for, made from a reduction and left beside its repro.

`measurements` runs instruments and experiments, `dossier` holds everything that is known, and from it are written
`ISSUE.md` (`issue`), the files under `artifacts/` (`artifacts`) and the page (`page`). `attachment` is the whole of it;
nothing here knows of the search. What is told is what was measured; what is only concluded is marked as such.
"""
