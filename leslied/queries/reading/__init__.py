"""One session to read: its outline, and its messages page by page."""
