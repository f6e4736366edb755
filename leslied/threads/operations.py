"""Changes to the relations data, each logged as an operation.

The field `relations` can be rebuilt from the operations. Leslie defines the commands
and their parameters. Nothing in this module reads or writes files.
"""

from __future__ import annotations

from leslied.layout import thread_folder

TYPE_CHECKING = False  # Importing it from `typing` would cost a hook milliseconds.
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from typing import Any

    RelationsData = dict[str, Any]
    """Data of the whole file: version, metadata, threads, operations, relations."""

RELATION_KINDS = ("children", "references_to", "referenced_by", "depends_on")
_RECORDED_BY = "leslied"
"""Value of `recorded_by` in the operations that leslied logs."""


class CycleError(ValueError):
    """Leslie's `T201`: a thread would reference itself, directly or indirectly."""


def make_objective_id(thread_id: str) -> str:
    """Return the id of a thread's default objective."""
    return "obj-" + thread_id.removeprefix("thread-")


def upsert_threads(
    data: RelationsData, threads: Iterable[Mapping[str, Any]], now: str
) -> list[str]:
    """Add or update the threads in the data; return the ids of the new ones.

    Threads that Leslie recorded do not change, nor does a status that a person set.
    """
    leslied_ids = list_leslied_threads(data)
    new_ids: list[str] = []
    for thread in threads:
        recorded_thread = data["threads"].get(thread["id"])
        if recorded_thread is None:
            _add_thread(data, thread, now)
            new_ids.append(thread["id"])
        elif thread["id"] in leslied_ids:
            before = dict(recorded_thread)
            _update_thread(data, recorded_thread, thread, now)
            if recorded_thread != before:
                recorded_thread["updated_at"] = now
    return new_ids


def list_leslied_threads(data: RelationsData) -> set[str]:
    """Return the ids of the threads that leslied recorded."""
    return {
        _get_spawned_id(operation["params"])
        for operation in data["operations"]
        if operation["command"] == "spawn"
        and operation["params"].get("recorded_by") == _RECORDED_BY
    }


def _update_thread(
    data: RelationsData,
    recorded_thread: dict[str, Any],
    thread: Mapping[str, Any],
    now: str,
) -> None:
    """Update the recorded thread in the data from `thread`."""
    for name in ("title", "session_id", "metadata"):
        recorded_thread[name] = thread[name]
    # Any other status was set by a person.
    if recorded_thread["status"] in ("active", "completed"):
        set_status(data, recorded_thread["id"], thread["status"], now)
    if recorded_thread.get("parent_id") is None:
        _set_parent(data, recorded_thread["id"], thread["parent_id"], now)


def set_status(data: RelationsData, thread_id: str, status: str, now: str) -> None:
    """Set the thread's status and log the operation, unless the status is the same."""
    thread = data["threads"][thread_id]
    if thread["status"] == status:
        return
    thread["status"] = status
    action = {"active": "resume", "completed": "done"}.get(status, status)
    _append_operation(
        data, "lifecycle", {"thread_id": thread_id, "action": action}, now
    )


def add_reference(
    data: RelationsData, thread_id: str, target: str, binding: str, now: str
) -> None:
    """Add a reference and log it; only log it if the target does not exist.

    Raise CycleError if the target references the thread, directly or indirectly.
    """
    if is_reachable(data, target, thread_id):
        raise CycleError(f"T201: {thread_id} and {target} would reference each other")
    params = {"from": thread_id, "target": target, "binding": binding}
    _append_operation(data, "reference", params, now)
    if target in data["threads"]:
        _add_relation(data["relations"], thread_id, "references_to", target)
        _add_relation(data["relations"], target, "referenced_by", thread_id)


def rename_thread(data: RelationsData, old_id: str, new_id: str, now: str) -> None:
    """Remove the thread `old_id`, and replace it by `new_id` in all relations.

    Do nothing if either thread does not exist.
    """
    if old_id not in data["threads"] or new_id not in data["threads"]:
        return
    del data["threads"][old_id]
    for thread in data["threads"].values():
        if thread.get("parent_id") == old_id:
            thread["parent_id"] = new_id
    _rename_in_relations(data["relations"], old_id, new_id)
    params = {"source": old_id, "target": new_id, "recorded_by": _RECORDED_BY}
    _append_operation(data, "merge", params, now)


def remove_thread(data: RelationsData, thread_id: str) -> None:
    """Remove a thread and its operations, as if it had never been in the file."""
    if data["threads"].pop(thread_id, None) is None:
        return
    for thread in data["threads"].values():
        if thread.get("parent_id") == thread_id:
            thread["parent_id"] = None
    for operation in data["operations"]:
        # The operations of its children stay, but without the parent.
        if operation["params"].get("parent_id") == thread_id:
            operation["params"]["parent_id"] = None
    data["operations"] = [
        operation
        for operation in data["operations"]
        if thread_id not in operation["params"].values()
    ]
    data["relations"] = rebuild_relations(data["operations"])


def is_reachable(data: RelationsData, start: str, goal: str) -> bool:
    """Return whether references lead from `start` to `goal`, or both are equal."""
    visited_ids, pending_ids = set(), [start]
    while pending_ids:
        thread_id = pending_ids.pop()
        if thread_id == goal:
            return True
        if thread_id not in visited_ids:
            visited_ids.add(thread_id)
            pending_ids += data["relations"].get(thread_id, {}).get("references_to", [])
    return False


def find_bindings(data: RelationsData, thread_id: str) -> dict[str, str]:
    """Return how each of a thread's references is bound; the last operation decides.

    `frozen` binds to the files as they were at that time, `live` to the current ones.
    """
    bindings = {}
    for operation in data["operations"]:
        params = operation["params"]
        if operation["command"] == "spawn" and _get_spawned_id(params) == thread_id:
            bindings.update(dict.fromkeys(_list_spawn_references(params), "frozen"))
        if operation["command"] == "reference" and _get_source_id(params) == thread_id:
            bindings[_get_target_id(params)] = params.get("binding") or "frozen"
    return bindings


def rebuild_relations(operations: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    """Compute the relations from the operations alone."""
    relations: dict[str, Any] = {}
    for operation in operations:
        params = operation["params"]
        if operation["command"] == "spawn" and _get_spawned_id(params):
            thread_id, parent_id = _get_spawned_id(params), params.get("parent_id")
            _ensure_relations(relations, thread_id)
            if isinstance(parent_id, str) and parent_id:
                _add_relation(relations, parent_id, "children", thread_id)
                _add_relation(relations, thread_id, "depends_on", parent_id)
            references = [
                (thread_id, target) for target in _list_spawn_references(params)
            ]
        elif _is_rename(operation):
            _rename_in_relations(relations, params["source"], params["target"])
            continue
        elif operation["command"] == "reference":
            references = [(_get_source_id(params), _get_target_id(params))]
        else:
            continue
        for source, target in references:
            if source in relations and target in relations:
                _add_relation(relations, source, "references_to", target)
                _add_relation(relations, target, "referenced_by", source)
    return relations


def _add_thread(data: RelationsData, thread: Mapping[str, Any], now: str) -> None:
    """Add the thread, linked to its parent if that exists, and log the operation."""
    thread_id = thread["id"]
    parent = data["threads"].get(thread["parent_id"])
    objective = parent["objective"] if parent else make_objective_id(thread_id)
    data["threads"][thread_id] = {
        "id": thread_id,
        "title": thread["title"],
        "objective": objective,
        "created_at": thread["created_at"],
        "status": thread["status"],
        "parent_id": None,
        "storage_path": thread_folder(thread_id),
        "executor": "agent",
        "updated_at": now,
        "session_id": thread["session_id"],
        "metadata": thread["metadata"],
    }
    params: dict[str, Any] = {
        "thread_id": thread_id,
        "parent_id": None,
        "objective": objective,
        "session_id": thread["session_id"],
        "recorded_by": _RECORDED_BY,
    }
    if parent:
        data["threads"][thread_id]["parent_id"] = parent["id"]
        params["parent_id"] = parent["id"]
        _add_relation(data["relations"], parent["id"], "children", thread_id)
        _add_relation(data["relations"], thread_id, "depends_on", parent["id"])
    _ensure_relations(data["relations"], thread_id)
    _append_operation(data, "spawn", params, now)


def _set_parent(
    data: RelationsData, thread_id: str, parent_id: str | None, now: str
) -> None:
    """Set a parent that became known later; log it as a second spawn operation.

    Do nothing if the parent does not exist or would close a cycle.
    """
    if (
        not parent_id
        or parent_id not in data["threads"]
        or _is_descendant(data, parent_id, thread_id)
    ):
        return
    data["threads"][thread_id]["parent_id"] = parent_id
    _add_relation(data["relations"], parent_id, "children", thread_id)
    _add_relation(data["relations"], thread_id, "depends_on", parent_id)
    params = {
        "thread_id": thread_id,
        "parent_id": parent_id,
        "recorded_by": _RECORDED_BY,
    }
    _append_operation(data, "spawn", params, now)


def _is_descendant(
    data: RelationsData, thread_id: str | None, ancestor_id: str
) -> bool:
    """Return whether the thread descends from the ancestor, or both are equal."""
    visited_ids = set()
    while thread_id and thread_id not in visited_ids:
        if thread_id == ancestor_id:
            return True
        visited_ids.add(thread_id)
        thread_id = data["threads"].get(thread_id, {}).get("parent_id")
    return False


def _append_operation(
    data: RelationsData, command: str, params: dict[str, Any], now: str
) -> None:
    """Log an operation; its id is a hash of its number, content and time."""
    import hashlib  # noqa: PLC0415 - hooks log no operations and start faster without
    import json  # noqa: PLC0415

    number = len(data["operations"])
    text = json.dumps([number, command, params, now], sort_keys=True)
    digest = hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()
    operation = {
        "id": f"op-{digest[:8]}",
        "timestamp": now,
        "command": command,
        "operator": "system",
        "params": params,
    }
    data["operations"].append(operation)


def _is_rename(operation: Mapping[str, Any]) -> bool:
    """Return whether the operation is a merge logged by leslied, which is a rename.

    A merge logged by Leslie copies files and changes no relations.
    """
    recorded_by = operation["params"].get("recorded_by")
    return operation["command"] == "merge" and bool(recorded_by == _RECORDED_BY)


def _rename_in_relations(relations: dict[str, Any], old_id: str, new_id: str) -> None:
    """Give the relations of `old_id` to `new_id`; drop those of a thread to itself."""
    for kind, related_ids in relations.pop(old_id, {}).items():
        for related_id in related_ids:
            _add_relation(relations, new_id, kind, related_id)
    for thread_id, lists in relations.items():
        for kind in RELATION_KINDS:
            renamed_ids = [
                new_id if related_id == old_id else related_id
                for related_id in lists[kind]
            ]
            unique_ids = dict.fromkeys(renamed_ids)
            lists[kind] = [
                related_id for related_id in unique_ids if related_id != thread_id
            ]


def _ensure_relations(
    relations: dict[str, Any], thread_id: str
) -> dict[str, list[str]]:
    """Return the thread's relations; add empty ones if there are none."""
    empty: dict[str, list[str]] = {kind: [] for kind in RELATION_KINDS}
    thread_relations: dict[str, list[str]] = relations.setdefault(thread_id, empty)
    return thread_relations


def _add_relation(
    relations: dict[str, Any], thread_id: str, kind: str, related_id: str
) -> None:
    related_ids = _ensure_relations(relations, thread_id).setdefault(kind, [])
    if related_id not in related_ids:
        related_ids.append(related_id)


def _get_spawned_id(params: Mapping[str, Any]) -> str:
    """Return the spawned thread's id; Leslie's code and manual name it differently."""
    return str(params.get("thread_id") or params.get("child_id") or "")


def _get_source_id(params: Mapping[str, Any]) -> str:
    """Return the id of the thread that references another, under any of its names."""
    names = ("from", "from_id", "source", "thread_id")
    return str(next((params[name] for name in names if params.get(name)), ""))


def _get_target_id(params: Mapping[str, Any]) -> str:
    """Return the id of the referenced thread, under any of its names."""
    names = ("target", "target_id", "to", "ref")
    return str(next((params[name] for name in names if params.get(name)), ""))


def _list_spawn_references(params: Mapping[str, Any]) -> list[str]:
    """Return the ids that a new thread references: from a list, or text with commas."""
    refs = params.get("refs") or params.get("ref") or []
    if isinstance(refs, str):
        refs = refs.split(",")
    if not isinstance(refs, list):
        return []
    return [ref.strip() for ref in refs if isinstance(ref, str) and ref.strip()]
