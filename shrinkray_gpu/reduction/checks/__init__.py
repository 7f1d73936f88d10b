"""Checks beside the search: cold confirmations, controls and fingerprints, each asked now and answered later."""
