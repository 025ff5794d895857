"""Direct messages whose session ended before it had answered them.

They are returned to the inbox once, and the next session gets them again. If that one does not
answer them either, they stay unanswered until a person tries again: a message that ends every
session would be paid for without an end.

A stop by a person is no answer: what a stopped session left is returned like that of a failed one.

Only the messages that the session itself was handed count. Those before it were handed to a session
that had done its work; one that ends in order need not say anything, if it cannot tell what it has
read.
"""

from collections.abc import Iterator, Sequence
from datetime import datetime

from muster.errors import Disabled, NothingUnanswered
from muster.machines import commands as c
from muster.machines import events as e
from muster.machines.actors import refuse_agent
from muster.machines.events import Fact
from muster.machines.state import Team


def return_messages(team: Team, command: c.ReturnMessages, now: datetime) -> Iterator[Fact]:
    """Return the messages of a session that ended without an answer; a second time, give up."""
    agent = team.agent(command.seat)
    after, upto = agent.answered_upto, agent.delivered
    if after >= upto:
        return
    if agent.returned < upto:
        yield e.MessagesReturned(seat=agent.seat, after=after, upto=upto, reason=command.reason)
    else:
        yield e.MessagesUnanswered(seat=agent.seat, after=after, upto=upto, reason=command.reason)


def retry_messages(team: Team, command: c.RetryMessages, now: datetime) -> Sequence[Fact]:
    """Return the messages that stayed unanswered, because a person wants that."""
    agent = team.agent(command.seat)
    left = agent.unanswered
    if left is None:
        raise NothingUnanswered(name=agent.id)
    if agent.disabled:
        raise Disabled(name=agent.id)
    return (e.MessagesReturned(seat=agent.seat, after=left.after, upto=left.upto, reason=""),)


def check_retry(team: Team, command: c.RetryMessages, actor: str) -> None:
    """Only people try again: they decide what is paid for twice."""
    refuse_agent(actor, "hand over messages again")
