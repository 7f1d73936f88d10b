"""Whether a candidate shows the same fault and not another one: controls, checkpoints, fingerprints."""
