"""A scripted agent of the runtime `python`: what it does is in the last line of each prompt."""

import asyncio
import sys
import threading

from muster.runtimes.python.turn import PythonTurn

BLOCKS = threading.Event()
"""Set when the thread of an agent is blocked."""

BLOCKED = threading.Event()
"""Set by a test that has seen a blocked thread, so that it ends."""


async def work(turn: PythonTurn) -> object:
    verb, _, rest = turn.text.splitlines()[-1].strip().partition(" ")
    act = ACTS.get(verb)
    return rest if act is None else await act(turn, rest)


async def hang(turn: PythonTurn, rest: str) -> object:
    await turn.partial("ready")
    return await asyncio.get_running_loop().create_future()


async def block(turn: PythonTurn, rest: str) -> object:
    BLOCKS.set()
    BLOCKED.wait()
    return rest


async def tool(turn: PythonTurn, rest: str) -> object:
    await turn.report_tool("Read notes", "notes.txt", "the notes")
    return rest


async def ask(turn: PythonTurn, rest: str) -> object:
    answer = await turn.ask("Edit", rest)
    return "allow_once" if answer.allowed else "reject_once"


async def end(turn: PythonTurn, rest: str) -> object:
    return f"{rest}\nTURN_COMPLETE @Ben\n"


async def where(turn: PythonTurn, rest: str) -> object:
    return str(turn.folder)


async def spend(turn: PythonTurn, rest: str) -> object:
    turn.add_usage(cost_usd=0.25, input_tokens=10, output_tokens=5)
    return rest


async def crash(turn: PythonTurn, rest: str) -> object:
    raise ValueError("it broke")


async def leave(turn: PythonTurn, rest: str) -> object:
    sys.exit(3)


async def number(turn: PythonTurn, rest: str) -> object:
    return 7


async def post(turn: PythonTurn, rest: str) -> object:
    await turn.working()
    await turn.post(rest)
    turn.state["before"] = turn


async def late(turn: PythonTurn, rest: str) -> object:
    """Speak in a turn that is over."""
    try:
        await turn.state["before"].post("late")
    except RuntimeError as error:
        return str(error)


async def who(turn: PythonTurn, rest: str) -> object:
    return (await turn.call(turn.tools[0].name)).text


ACTS = {
    each.__name__: each
    for each in (hang, block, tool, ask, spend, crash, leave, number, post, late, who, where, end)
}


def plain(turn: PythonTurn) -> str:
    return turn.text
