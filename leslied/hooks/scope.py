"""Which logs leslied reads: hooks must not name a thread that will never exist.

The daemon writes a small file whenever its settings change, because loading them would
take a hook too long.
"""

from __future__ import annotations

from leslied.hooks import learned_roots
from leslied.hooks.files import read_part, write_atomic

_FOLDER, _NAME = "hooks", "scope"
_ROOT, _EXCLUDE = "root ", "exclude "
_MAX_BYTES = 500_000


def save(data_dir: str, roots: list[str], exclude: list[str]) -> None:
    """Save the agent's roots and the globs of excluded folders if they have changed.

    An agent that is disabled has no roots.
    """
    lines = [_ROOT + root for root in roots] + [_EXCLUDE + glob for glob in exclude]
    # A path with a line break is left out: the hook then treats it as unknown.
    text = "".join(f"{line}\n" for line in lines if "\n" not in line)
    data = text.encode(errors="surrogateescape")
    if read_part(f"{data_dir}/{_FOLDER}/{_NAME}", 0, _MAX_BYTES) != data:
        write_atomic(f"{data_dir}/{_FOLDER}", _NAME, data)


def is_log_included(data_dir: str, log: str, cwd: str) -> bool:
    """Return whether leslied reads this log of a session, or will learn its folder.

    Return True if leslied has not run yet, because its settings are then unknown. An
    empty `log` means that the path of the log is unknown; only `cwd`, the session's
    folder, is then checked.
    """
    data = read_part(f"{data_dir}/{_FOLDER}/{_NAME}", 0, _MAX_BYTES)
    if data is None:
        return True
    lines = data.decode(errors="surrogateescape").split("\n")
    roots = [line[len(_ROOT) :] for line in lines if line.startswith(_ROOT)]
    globs = [line[len(_EXCLUDE) :] for line in lines if line.startswith(_EXCLUDE)]
    if not roots or (globs and _is_excluded(cwd, globs)):
        return False
    is_in_root = any(log.startswith(f"{root}/") for root in roots)
    return is_in_root or not log or _can_be_learned(data_dir, log)


def _is_excluded(cwd: str, globs: list[str]) -> bool:
    from leslied.folder_globs import make_folder_matcher  # noqa: PLC0415 - slow

    return make_folder_matcher(globs)(cwd)


def _can_be_learned(data_dir: str, log: str) -> bool:
    folder = learned_roots.find_config_folder(log)
    _, ignored = learned_roots.load(data_dir)
    is_own_file = log.startswith(f"{data_dir}/")
    return bool(folder) and folder not in ignored and not is_own_file
