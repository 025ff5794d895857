"""Every task has an owner: a task group, or an owner from `muster.engine.tasks`."""

import ast
from collections.abc import Iterator

from tests.tidy.source import Module, modules, nodes

OWNERS = {
    "muster.engine.tasks": "the owners themselves",
    "muster.claude_plugin.hooks.desk": "logs failed records, awaits all at its end",
    "muster.store.postgres.store": "an open store has three tasks, and closing it ends them",
    "muster.runtimes.python.thread": "the thread of a coroutine has one task, and ends it",
    "muster.cli.delegate.served": "awaits the task in the next lines: SIGTERM cancels it",
}
"""The modules that may start a task without a group, and who ends that task."""

LOOPS = {"asyncio", "loop", "get_running_loop", "get_event_loop", "new_event_loop"}
DETACHED = {"run_in_executor", "to_thread", "wrap_future", "run_coroutine_threadsafe"}


def test_no_task_is_started_without_an_owner() -> None:
    found = [
        place
        for module in modules().values()
        if module.name not in OWNERS
        for place in unowned(module)
    ]
    assert not found, "start it in a task group, or with muster.engine.tasks.TaskOwner"


def test_every_exception_is_still_needed() -> None:
    assert not [name for name in OWNERS if not list(unowned(modules()[name]))]


def unowned(module: Module) -> Iterator[str]:
    """Where a module starts something that no task group ends."""
    for node in nodes(module):
        if (isinstance(node, ast.Call) and _starts_unowned(node.func)) or (
            isinstance(node, ast.Expr)  # a statement: neither awaited nor kept
            and isinstance(node.value, ast.Call)
            and _last_name(node.value.func) in DETACHED
        ):
            yield module.at(node.lineno)


def _starts_unowned(function: ast.expr) -> bool:
    """`ensure_future`, or `create_task` of asyncio or a loop, however the loop is reached."""
    name = _last_name(function)
    if name == "create_task" and isinstance(function, ast.Attribute):
        receiver = function.value
        called = receiver.func if isinstance(receiver, ast.Call) else receiver
        return _last_name(called).lstrip("_") in LOOPS
    return name in {"ensure_future", "create_task"}


def _last_name(function: ast.expr) -> str:
    if isinstance(function, ast.Attribute):
        return function.attr
    return function.id if isinstance(function, ast.Name) else ""
