"""Which of the kernels' instruction sets this processor gets; without numpy, so that `topicx --version` answers at once."""

cdef extern from "cpu.h":
    int tx_instruction_set() nogil


def instruction_set() -> str:
    """The widest instruction set that kernels use here: avx512, avx2 or plain."""
    return ("plain", "avx2", "avx512")[tx_instruction_set()]
