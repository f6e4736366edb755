"""The local web page and its JSON API, on the loopback interface only.

`server.py` listens, `guard.py` refuses what does not come from the user's own browser,
and `application.py` routes the rest to the endpoints in `routes`. Each of them asks
`leslied.queries`. The page itself is in `static`.
"""
