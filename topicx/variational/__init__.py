"""CVB0, CVB, VB and SCVB0: inference with soft assignments."""
