"""Cells and the engines that run them.

cell.py          what a cell is, and `row_of`, the one function that runs one
this_machine.py  the engine of this machine: lanes of one place after the other
shard.py         which cells are this process's, where several machines share them
ray_cluster.py   the engine of a Ray cluster
ray_worker.py    its half in the cluster: what a task does
shipped_files.py what goes to another host with a cell, and comes back with its row
sick_gpu.py      whether the GPU is sick that gave an answer

An engine has `run(cells)`, which yields the index of a cell and its row as they come, and `close()`.
"""
