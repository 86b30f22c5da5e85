"""The compilers and engines of phones, PCs and microcontrollers, which are asked about a `.tflite` file."""
