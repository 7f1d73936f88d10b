"""The hook for production, in real programs on the virtual GPU, and the capsules that it leaves."""
