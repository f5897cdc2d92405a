"""The GPU through the compiler that suits a kernel best: a remembered winner of the tuner, or else rules."""
