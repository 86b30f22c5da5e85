"""Accelerators of phones, PCs and microcontrollers: each asks the chip's own compiler or engine about a `.tflite` file.

The compilers are programs of others, which may crash or hang: each runs as a process of its own.
"""
