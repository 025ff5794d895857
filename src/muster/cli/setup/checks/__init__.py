"""Parts of `muster doctor`: its findings, and the checks that are more than a few lines."""
