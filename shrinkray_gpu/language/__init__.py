"""What the languages of a program look like, for whoever reads its text. Nothing here knows of reduction.

A language in which kernels are written is one file with one `KernelLanguage`, and one line in `languages.LANGUAGES`.
"""
