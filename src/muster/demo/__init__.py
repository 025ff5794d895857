"""The demo team of `muster up --demo`: nine scripted programs. No model, no key, no network."""
