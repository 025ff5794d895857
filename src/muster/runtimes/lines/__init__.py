"""JSON lines between muster and a program: their types, what they mean, and who answers them."""
