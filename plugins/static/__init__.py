"""Static models: a text's vector is the mean of vectors of its tokens, which depend on no other token."""
