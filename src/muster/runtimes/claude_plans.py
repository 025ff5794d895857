"""The plan of a Claude Code, read from its tool calls.

Older versions keep it with `TodoWrite`: each call has all steps. Newer ones have a task list:
`TaskCreate` adds a step, `TaskUpdate` changes or removes one, and `TaskList` shows all of them,
also those of an earlier session of the same conversation. The number of a new task is in the
result of the call alone, and a call can fail, so these three count when they are done.
"""

import re
from collections.abc import Mapping
from typing import Final, NamedTuple

from muster.engine.ports import SessionPlan
from muster.limits import PLAN_STEPS_MAX
from muster.runtimes.plans import plan, plan_in

_TODOS: Final = "TodoWrite"
_CREATE: Final = "TaskCreate"
_UPDATE: Final = "TaskUpdate"
_LIST: Final = "TaskList"
_DELETED: Final = "deleted"

_CREATED: Final = re.compile(r"Task #(\S{1,32}) created successfully")
_UPDATED: Final = re.compile(r"Updated task #")
_LISTED: Final = re.compile(r"^#(\S{1,32}) \[(\w+)\] (.+)$", re.MULTILINE)
_NO_TASKS: Final = "No tasks found"


class _Step(NamedTuple):
    text: str
    status: str = "pending"


class _Call(NamedTuple):
    tool: str
    given: Mapping[str, object]


class ClaudePlans:
    """Follows the calls of one Claude Code, and tells its plan each time that it changes."""

    def __init__(self) -> None:
        """Begin without a plan."""
        self._open: dict[str, _Call] = {}
        self._steps: dict[str, _Step] = {}

    def called(self, ref: str, tool: str, given: Mapping[str, object]) -> SessionPlan | None:
        """A tool is called; the plan, if the call has all of it."""
        if tool == _TODOS:
            return plan_in(given.get("todos"), "content")
        if tool in (_CREATE, _UPDATE, _LIST):
            self._open[ref] = _Call(tool, given)
            while len(self._open) > PLAN_STEPS_MAX:  # calls without a result
                del self._open[next(iter(self._open))]
        return None

    def done(self, ref: str, result: str, *, failed: bool) -> SessionPlan | None:
        """A call has ended; the plan, if it changed."""
        call = self._open.pop(ref, None)
        if call is None or failed or not self._apply(call, result):
            return None
        return plan(self._steps.values())

    def _apply(self, call: _Call, result: str) -> bool:
        """Change the steps as a successful call did; whether it did."""
        match call.tool:
            case "TaskCreate":
                return self._create(call.given, result)
            case "TaskUpdate":
                return bool(_UPDATED.match(result)) and self._update(call.given)
            case _:
                return self._list(result)

    def _create(self, given: Mapping[str, object], result: str) -> bool:
        number = _CREATED.match(result)
        if number is None or len(self._steps) >= PLAN_STEPS_MAX:
            return False
        self._steps[number[1]] = _Step(str(given.get("subject") or ""))
        return True

    def _update(self, given: Mapping[str, object]) -> bool:
        """A task that was made before this muster listened is known once the tasks are listed."""
        number = str(given.get("taskId"))
        step = self._steps.get(number)
        if step is None:
            return False
        if given.get("status") == _DELETED:
            del self._steps[number]
        else:
            text, status = given.get("subject") or step.text, given.get("status") or step.status
            self._steps[number] = _Step(str(text), str(status))
        return True

    def _list(self, result: str) -> bool:
        listed = {number: _Step(text, state) for number, state, text in _LISTED.findall(result)}
        if not listed and result.strip() != _NO_TASKS:
            return False
        before, self._steps = self._steps, dict(list(listed.items())[:PLAN_STEPS_MAX])
        return before != self._steps
