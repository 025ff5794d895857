"""The delegation machine: conversations, and which agent works on each."""
