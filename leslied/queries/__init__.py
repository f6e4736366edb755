"""Questions about sessions, and their answers: typed, redacted, with one JSON form.

Each module answers one kind of question. Its functions take a `QueryContext`
(`context.py`), which `leslied.app` makes, and return answers whose `to_dict` returns
what `--json` prints. This package combines `store` and `sessions` for reading, as
`pipeline` does for writing.
"""
