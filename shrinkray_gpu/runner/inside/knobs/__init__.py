"""The same program text with one knob turned, at launch or while Triton compiles it."""
