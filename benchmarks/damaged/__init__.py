"""Files of every format that is read, damaged in many ways, and what their readers make of them."""
