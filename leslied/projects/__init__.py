"""Projects: which repository a folder belongs to, and which paths are the same project.

Git's files are read directly; the `git` program is never run, because logs name any
folder, and `git` runs programs that the config of a repository names.
"""
