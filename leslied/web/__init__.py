"""The local web page and its JSON API, on the loopback interface only.

`server.py` listens, `guard.py` refuses requests that do not come from the user's own
browser, and `application.py` routes the others to the endpoints in `routes`, which ask
`leslied.queries`. The page itself is in `static`.
"""
