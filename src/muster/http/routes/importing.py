"""`POST /api/import`: the documents and messages of another machine, merged atomically."""

from muster.http.routing import OPERATOR, ApiCall, route
from muster.identity.importing import import_team
from muster.machines.events import DocumentsImported
from muster.views.answers.agents import Imported
from muster.views.paper import LoosePaper, documents_in, messages_in


@route("POST", "/api/import", may=OPERATOR)
async def import_documents(call: ApiCall, body: LoosePaper) -> Imported:
    """Merge the agents' documents and messages of another machine. It starts nothing."""
    documents = documents_in(body)
    receipt = await import_team(call.muster, call.send, documents, messages_in(body))
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
