"""What the terminal, web pages and the sinks share when they show a session. Pure."""
