"""Access: tokens, users and their roles. The HTTP layer checks what a role permits."""
