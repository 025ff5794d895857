"""What must happen in the world after an event, one duty each."""
