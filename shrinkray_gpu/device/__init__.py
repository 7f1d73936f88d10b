"""What is the device's own: error codes, core dumps, machine code, and the vendor's tools. NVIDIA today."""
