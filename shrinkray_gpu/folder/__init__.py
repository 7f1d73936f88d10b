"""A command and the folder that it runs in, as a test case: any build or test, in any language.

contents.py   which files are reduced and which are only carried along
tree.py       the files of one candidate
units.py      what may go of a file, by its language
mentions.py   where one file mentions another
families.py   the steps of the search: whole files first
copies.py     the copy of the folder in which a command runs, put right again for each candidate
trial.py      one run of the command, and whether it shows the fault
reduce_folder.py   a reduction in the order of time
result_folder.py   the folder that comes of it
"""
