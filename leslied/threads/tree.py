"""The threads of one project as a tree of parents and children."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from leslied.threads.operations import RelationsData


@dataclass(slots=True)
class ThreadNode:
    """One thread, with the threads that were forked or spawned from it."""

    id: str
    title: str
    status: str
    objective: str
    created_at: str
    updated_at: str
    session_id: str
    references_to: list[str]
    subagents: int
    """Number of subagents."""
    children: list[ThreadNode] = field(default_factory=list)

    def walk(self) -> Iterator[ThreadNode]:
        """Yield the thread itself and all its descendants."""
        yield self
        for child in self.children:
            yield from child.walk()


def build_tree(data: RelationsData) -> list[ThreadNode]:
    """Return the threads without a parent, newest first.

    The children of a thread are sorted oldest first. A parent that does not exist, or
    that would close a cycle, is ignored.
    """
    threads = data["threads"]
    nodes = {thread_id: _make_node(data, threads[thread_id]) for thread_id in threads}
    oldest_first = sorted(nodes.values(), key=lambda node: (node.created_at, node.id))
    parent_ids = {thread_id: threads[thread_id].get("parent_id") for thread_id in nodes}
    roots = []
    for node in oldest_first:
        parent = nodes.get(parent_ids[node.id])
        if parent is None or _is_ancestor(parent_ids, parent.id, node.id):
            roots.append(node)
        else:
            parent.children.append(node)
    return roots[::-1]


def render_dot(roots: Iterable[ThreadNode]) -> str:
    """Render the tree for Graphviz: arrows to children, dashed arrows to references."""
    nodes = [node for root in roots for node in root.walk()]
    node_ids = {node.id for node in nodes}
    lines = ["digraph threads {", "  rankdir=LR;", "  node [shape=box];"]
    for node in nodes:
        label = f"{node.id}\n{node.title}\n{node.status}"
        lines.append(f"  {_quote(node.id)} [label={_quote(label)}];")
    for node in nodes:
        lines += [f"  {_quote(node.id)} -> {_quote(c.id)};" for c in node.children]
        lines += [
            f"  {_quote(node.id)} -> {_quote(target)} [style=dashed];"
            for target in node.references_to
            if target in node_ids
        ]
    return "\n".join([*lines, "}"])


def _make_node(data: RelationsData, thread: dict[str, Any]) -> ThreadNode:
    relations = data["relations"].get(thread["id"], {})
    metadata = thread.get("metadata")
    subagents = metadata.get("subagents") if isinstance(metadata, dict) else None
    return ThreadNode(
        id=thread["id"],
        title=thread["title"],
        status=thread["status"],
        objective=thread["objective"],
        created_at=thread["created_at"],
        updated_at=str(thread.get("updated_at") or thread["created_at"]),
        session_id=str(thread.get("session_id") or ""),
        references_to=list(relations.get("references_to", [])),
        subagents=len(subagents) if isinstance(subagents, list) else 0,
    )


def _is_ancestor(parent_ids: dict[str, str | None], start: str, goal: str) -> bool:
    """Return whether `goal` is an ancestor of `start`, or the parents form a cycle."""
    current: str | None = start
    for _ in parent_ids:
        if current is None or current == goal:
            return current == goal
        current = parent_ids.get(current)
    # There were as many steps as threads, so the parents form a cycle.
    return current is not None


def _quote(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{escaped}"'
