"""Earlier conversations of an agent over HTTP: list them, and resume one in its next session."""

from muster.errors import NotFound
from muster.http.routing import OPERATOR, ApiCall, route
from muster.machines.commands import RestartAgent, SetDesired
from muster.machines.vocabulary import RunMode
from muster.views.agents import view_run
from muster.views.answers.agents import PastConversations, RunView
from muster.views.memory.past import past_conversations

NOTE = "resumes an earlier conversation"


@route("GET", "/api/agents/{name}/past-conversations", may=OPERATOR)
async def list_past(call: ApiCall, name: str) -> PastConversations:
    """List the conversations of an agent with its program: first words, dates, cost."""
    agent = call.agent(name)
    found = await past_conversations(
        call.muster.store,
        call.team,
        agent,
        await call.muster.conversations.of(agent),
        await call.muster.costs.tally(),
        call.access.shown_event,
    )
    return PastConversations(agent=agent.id, conversations=found)


@route("POST", "/api/agents/{name}/past-conversations/{conversation}/resume", may=OPERATOR)
async def resume_past(call: ApiCall, name: str, conversation: str) -> RunView:
    """Start the next session of an agent from this conversation; a running one ends first."""
    agent, human = call.agent(name), call.speaker
    if not await call.muster.conversations.choose(agent, conversation):
        raise NotFound(kind=f"conversation of {agent.id}", name=conversation)
    if agent.session is not None:
        await call.send(RestartAgent(seat=agent.seat, set_by=human, note=NOTE))
    else:
        wish = SetDesired(seat=agent.seat, desired=RunMode.CONTINUOUS, set_by=human, note=NOTE)
        await call.send(wish)
    return view_run(call.team, call.team.agent(agent.seat))
