"""The compiled kernels: typed Cython and one small C header, no policy. The .pxd files are the documentation."""
