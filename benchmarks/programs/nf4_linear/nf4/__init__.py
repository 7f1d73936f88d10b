from .codebook import NF4, FP4, codebook
from .pack import pack, quantize
