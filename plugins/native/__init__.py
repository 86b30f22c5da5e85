"""The export target `native`: tokenizers and answers in C++, for apps and servers in any language."""
