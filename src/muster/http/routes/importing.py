"""`POST /api/import`: what another machine knows of the team, merged in one transaction."""

from typing import Final

from muster.http.routing import OPERATOR, Call, Route
from muster.identity.importing import import_team
from muster.machines.events import DocumentsImported
from muster.views.paper import Imported, LoosePaper, documents_in


async def take_in(call: Call) -> Imported:
    """Merge documents and messages from another machine. It starts nothing."""
    paper: LoosePaper = call.body
    documents = documents_in(paper)
    receipt = await import_team(call.muster, call.caller.actor, documents, paper.messages)
    team = call.team
    for event in receipt.events:
        fact = event.fact
        if isinstance(fact, DocumentsImported):
            changed = tuple(team.agent(each.grid_position).id for each in fact.documents)
            held = tuple(team.agent(seat).id for seat in fact.held if seat in team.agents)
            lost, messages = len(fact.lost), fact.messages
            return Imported(
                seq=receipt.seq, changed=changed, lost=lost, held=held, messages=messages
            )
    return Imported(seq=receipt.seq, changed=(), lost=0, held=(), messages=0)


ROUTES: Final = (
    Route(
        method="POST",
        path="/api/import",
        handler=take_in,
        may=OPERATOR,
        summary="Merge the agents' documents and messages of another machine into the team.",
        body=LoosePaper,
        answer=Imported,
    ),
)
