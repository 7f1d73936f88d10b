"""PTX as a test case: a file on which ptxas fails becomes the smallest such file, and several releases are asked of it.

People who write ptxas have no frontend of Triton. They want PTX, the command, and the releases that fail and pass.
A model of statements (`ptx_text`), edits that know registers (`edits`), and the loop that Triton's IR has as well.
"""
