"""The fold of the delegation facts: how each one changes the state."""

from msgspec.structs import replace

from muster.limits import CHOICES_KEPT_MAX, FAILED_REQUESTS_MAX, NEED_CHARS_MAX
from muster.machines import events as e
from muster.machines.events import Event
from muster.machines.ids import HERE, ConversationId, SessionId, request_key
from muster.machines.maps import drop, put
from muster.machines.state import (
    Conversation,
    Delegation,
    FailedRequest,
    RememberedChoice,
    Selection,
    Team,
    Visit,
)
from muster.machines.vocabulary import NOTHING_USED, Remark, Usage


def delegation_started(team: Team, event: Event, fact: e.DelegationStarted) -> Team:
    lives = {node.life: node.name for node in team.nodes.values()}
    delegation = replace(
        team.delegation,
        mode=fact.mode,
        path=fact.path,
        last_path=fact.path,
        node=lives.get(event.session_id, HERE),
        agents=fact.agents,
        folders=fact.folders,
        allowance=fact.allowance,
        opened=max(team.delegation.opened, fact.opened),
    )
    return replace(team, delegation=delegation)


def descriptions_added(team: Team, event: Event, fact: e.DescriptionsAdded) -> Team:
    agents = tuple(sorted({*team.delegation.agents, *fact.agents}))
    return replace(team, delegation=replace(team.delegation, agents=agents))


def delegation_ended(team: Team, event: Event, fact: e.DelegationEnded) -> Team:
    """The numbering continues, so that a folder is never used twice. Choices stay."""
    before = team.delegation
    ended = Delegation(
        opened=before.opened,
        last_path=before.last_path,
        node=before.node,
        failed=before.failed,
        choices=before.choices,
        choices_made=before.choices_made,
    )
    return replace(team, delegation=ended)


def conversation_start(team: Team, event: Event, fact: e.ConversationStart) -> Team:
    delegation = team.delegation
    delegation = replace(delegation, opened=delegation.opened + 1)
    conversation = Conversation(
        id=fact.conversation,
        state=delegation.home_state,
        text=fact.text,
        visits=(Visit(state=delegation.home_state, progress=0),),
        keeper=fact.keeper,
        depth=fact.depth,
        life=event.session_id,
    )
    team = replace(team, delegation=delegation)
    if fact.seat is not None:
        leads = replace(
            team.agents[fact.seat],
            conversation=fact.conversation,
            conversation_used=NOTHING_USED,
        )
        team = replace(team, agents=put(team.agents, fact.seat, leads))
    return _with(team, conversation)


def routed(team: Team, event: Event, fact: e.Routed) -> Team:
    conversation = team.delegation.conversations[fact.conversation]
    return _with(team, replace(conversation, routed=fact.to, selection=_selection(fact)))


def _selection(fact: e.Routed) -> Selection | None:
    if not fact.selector:
        return None
    return Selection(
        selector=fact.selector,
        candidates=fact.candidates,
        margin=fact.margin,
        router=fact.router,
    )


def choice_remembered(team: Team, event: Event, fact: e.ChoiceRemembered) -> Team:
    """Add a choice; it replaces an earlier one for the same request, or else the oldest."""
    choice = RememberedChoice(
        number=fact.number, text=fact.text, agent=fact.to, guess=fact.guess, at=event.ts
    )
    key = request_key(fact.text)
    others = (each for each in team.delegation.choices if request_key(each.text) != key)
    kept = (*others, choice)[-CHOICES_KEPT_MAX:]
    return replace(
        team, delegation=replace(team.delegation, choices=kept, choices_made=fact.number)
    )


def choice_forgotten(team: Team, event: Event, fact: e.ChoiceForgotten) -> Team:
    kept = tuple(
        each
        for each in team.delegation.choices
        if fact.number is not None and each.number != fact.number
    )
    return replace(team, delegation=replace(team.delegation, choices=kept))


def usage_recorded(team: Team, event: Event, fact: e.UsageRecorded) -> Team:
    return charge(team, fact.conversation, fact.usage)


def progress_recorded(team: Team, event: Event, fact: e.ProgressRecorded | e.FileRecorded) -> Team:
    """A recorded file counts as progress, too."""
    conversation = team.delegation.conversations[fact.conversation]
    return _with(team, replace(conversation, progress=conversation.progress + 1))


def transition(team: Team, event: Event, fact: e.StateTransition) -> Team:
    assert fact.conversation is not None
    assert fact.epoch is not None
    conversation = team.delegation.conversations[fact.conversation]
    visit = Visit(state=fact.target, progress=conversation.progress)
    visits = (*(each for each in conversation.visits if each.state != fact.target), visit)
    moved = replace(
        conversation,
        state=fact.target,
        epoch=fact.epoch,
        visits=visits,
        session=None,
        beside=_beside(conversation, fact),
        reports=_with_reason(conversation.reports, fact),
    )
    return _with(team, moved)


def _beside(conversation: Conversation, fact: e.StateTransition) -> tuple[str, ...]:
    """The agents that work on a conversation beside the one that has it after a transition."""
    if fact.trigger == "joined":
        return (*conversation.beside, conversation.state)
    if fact.trigger == "left":
        working = [*conversation.beside, conversation.state]
        working.remove(fact.source)
        working.remove(fact.target)
        return tuple(working)
    return conversation.beside if fact.trigger == "handed_over" else ()


def _with_reason(reports: tuple[str, ...], fact: e.StateTransition) -> tuple[str, ...]:
    """Keep the reason of a hand-over for the agent that goes on."""
    if fact.trigger != "handed_over" or not fact.reason:
        return reports
    return (*reports, f"{fact.source} hands over to {fact.target}: {fact.reason}")


def dialogue_recorded(team: Team, event: Event, fact: e.DialogueRecorded) -> Team:
    """Count the text; keep an agent's report for the next agent that works on the conversation."""
    conversation = team.delegation.conversations[fact.conversation]
    reports = conversation.reports
    if fact.kind is Remark.REPORT:
        reports = (*reports, f"{fact.speaker} reports: {fact.text}")
    said = conversation.said + len(fact.text)
    return _with(team, replace(conversation, reports=reports, said=said))


def conversation_end(team: Team, event: Event, fact: e.ConversationEnd) -> Team:
    delegation = team.delegation
    left = drop(delegation.conversations, fact.conversation)
    failed = delegation.failed
    if fact.outcome == "failed":
        request = FailedRequest(
            conversation=fact.conversation,
            at=event.ts,
            text=delegation.conversations[fact.conversation].text[:NEED_CHARS_MAX],
            why=fact.summary[:NEED_CHARS_MAX],
        )
        failed = (*failed, request)[-FAILED_REQUESTS_MAX:]
    return replace(team, delegation=replace(delegation, conversations=left, failed=failed))


def with_conversation(team: Team, name: ConversationId, *, session: SessionId) -> Team:
    """The team with `session` working on a conversation, unless that is closed already."""
    conversation = team.delegation.conversations.get(name)
    return team if conversation is None else _with(team, replace(conversation, session=session))


def charge(team: Team, name: ConversationId, usage: Usage) -> Team:
    """Add a usage to a conversation, if it is still open."""
    conversation = team.delegation.conversations.get(name)
    if conversation is None:
        return team
    return _with(team, replace(conversation, used=conversation.used + usage))


def _with(team: Team, conversation: Conversation) -> Team:
    delegation = team.delegation
    conversations = put(delegation.conversations, conversation.id, conversation)
    return replace(team, delegation=replace(delegation, conversations=conversations))
