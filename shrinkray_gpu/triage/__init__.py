"""`shrink triage`: many failures become clusters by cause, and one repro of each.

`reading` finds the failures in junit.xml, logs and capsules, or `session` runs the tests. `reruns` runs each of them
once more, `fault_origin` says where its fault begins, and `clusters` puts together what begins at the same place.
`reductions` has the cheapest member of each cluster reduced by a process of its own. `triage_cells` asks all that by
cells, which may be run on other hosts, and `triage` is the order of it. `shared_triage` puts together what shards found
out.
"""
