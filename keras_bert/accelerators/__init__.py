"""Accelerators of phones, PCs and microcontrollers: what plug-ins for them have in common, and who asks them."""
