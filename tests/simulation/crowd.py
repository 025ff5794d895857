"""The people and agents of a simulated team: random commands, in and out of turn."""

import random
from collections.abc import Iterator

from muster.machines import commands as c
from muster.machines import events as e
from muster.machines.commands import Command
from muster.machines.identity.places import in_free_seat, occupant
from muster.machines.ids import GRID_SEATS, LEAD_SEAT, ChannelId, SeatId, SessionId
from muster.machines.state import Agent, Channel, Team, TurnState
from muster.machines.vocabulary import Authority, Awaits, JoinRule, RunMode, SpeakerOrder

CHANNELS = tuple(ChannelId(name) for name in ("design", "reviews", "standup"))
_SELVES = 3  # agents that connect by themselves
_MINE = 4  # agents that muster runs
_DESCRIBED = ("ada", "bob", "mine0", "mine1", "self0")  # to whom work is delegated


class Crowd:
    """Senders of random commands. Each action reads the team, and may be refused."""

    def __init__(self, chance: random.Random) -> None:
        self._chance = chance

    def cast(self) -> Iterator[Command]:
        """Create the team: a lead, agents that connect, agents that muster runs, and channels."""
        yield c.EnrollAgent(
            name="Lead", authority=Authority.MUSTER, seat=LEAD_SEAT, long_lived=True
        )
        for number in range(_SELVES):
            yield c.EnrollAgent(
                name=f"self{number}", authority=Authority.SELF, max_turns=1 + number
            )
        for number in range(_MINE):
            yield c.EnrollAgent(
                name=f"mine{number}",
                authority=Authority.MUSTER,
                long_lived=number % 2 == 0,
                unasked=number == 1,
            )
        for channel in CHANNELS:
            yield c.CreateChannel(channel=channel, config=self._config())

    def _config(self) -> e.TurnConfig:
        return e.TurnConfig(
            human_interrupt_mode=self._chance.choice(list(e.InterruptMode)),
            auto_detect_turn_end=self._chance.random() < 0.5,
            rest_after_idle_rounds=self._chance.randint(1, 3),
            max_cost_usd=self._chance.choice((0.0, 0.0, 20.0)),
            speaker_order=self._chance.choice(list(SpeakerOrder)),
            selector=self._chance.choice(("self0", "mine0", "mine1")),
            stop_phrase=self._chance.choice(("", "we are done")),
            turns_per_message=self._chance.choice((0, 0, 5, 100)),
            alike_in_a_row=self._chance.choice((0, 3, 12)),
            rounds_per_message=self._chance.choice((0, 0, 0, 3)),
            max_turns=self._chance.choice((0, 0, 0, 500)),
            join_rule=self._chance.choice(list(JoinRule)),
        )

    def _text(self, team: Team) -> str:
        """A message: plain, with a mention, a selector's answer, or the stop phrase."""
        name = self._any_agent(team).id
        return self._chance.choice(
            ("word", "word", "word", f"@{name} please", name, "nobody", "so we are done")
        )

    def _any_agent(self, team: Team) -> Agent:
        seats = [seat for seat in sorted(team.agents) if not team.agents[seat].retired]
        return team.agents[self._chance.choice(seats)]

    def _any_channel(self, team: Team) -> Channel:
        return team.channels[self._chance.choice(CHANNELS)]

    def speak(self, team: Team) -> Iterator[Command]:
        """An agent acts on a turn: its own or another's."""
        channel = self._any_channel(team)
        seat = channel.turn.holder if channel.turn else self._any_agent(team).seat
        if self._chance.random() < 0.1:
            seat = self._any_agent(team).seat
        epoch = self._chance.choice((None, channel.epoch, channel.epoch, channel.epoch - 1))
        handing = channel.ring and self._chance.random() < 0.2
        to = self._chance.choice(channel.ring) if handing else None
        if self._chance.random() < 0.6:  # it was handed what was said, before it acts
            yield c.DeliverMessages(channel=channel.id, seat=seat, upto=channel.last_message)
        act = self._chance.randrange(10)
        if act < 4:
            yield c.CompleteTurn(channel=channel.id, seat=seat, epoch=epoch, to=to)
        elif act < 7:
            text, done = self._text(team), self._chance.random() < 0.7
            yield c.Speak(
                channel=channel.id, seat=seat, text=text, epoch=epoch, complete=done, to=to
            )
        elif act == 7:
            awaits = self._chance.choice(list(Awaits))
            yield c.WaitTurn(
                channel=channel.id, seat=seat, reason="dinner", epoch=epoch, awaits=awaits
            )
        elif act == 8:
            own = self._chance.random() < 0.3
            yield c.ResumeTurn(channel=channel.id, seat=seat, epoch=epoch, if_own=own)
        elif act == 9 and self._chance.random() < 0.5:
            ok = self._chance.random() < 0.5
            yield c.EndForgottenTurn(channel=channel.id, seat=seat, ok=ok, text=self._text(team))
        else:
            beats = self._chance.random() < 0.5
            yield c.RenewTurn(channel=channel.id, seat=seat, epoch=epoch, heartbeat=beats)

    def ask(self, team: Team) -> Iterator[Command]:
        """A session or an agent asks for approval, a person answers, or usage is reported."""
        asked = [approval.id for agent in team.agents.values() for approval in agent.approvals]
        session = self._chance.choice((*sorted(team.sessions), SessionId("stranger")))
        act = self._chance.randrange(4)
        if act < 2 and asked:
            approval = self._chance.choice((*asked, "0"))
            yield c.AnswerApproval(approval=approval, allow=self._chance.random() < 0.5)
        elif act < 3:
            alone = self._chance.random() < 0.3
            yield c.RequestApproval(
                session=None if alone else session,
                seat=self._any_agent(team).seat,
                tool="Bash",
                detail="make",
                seconds=self._chance.choice((5, 60, 600)),
                default=self._chance.random() < 0.5,
            )
        else:
            usage = e.Usage(cost_usd=self._chance.random(), output_tokens=100)
            channel = self._chance.choice((None, *CHANNELS))
            yield c.ReportResult(session=session, usage=usage, channel=channel)

    def come_and_go(self, team: Team) -> Iterator[Command]:
        """An agent connects by itself, disconnects, or times out."""
        seat = self._any_agent(team).seat
        if self._chance.random() < 0.7:
            yield c.ConnectAgent(seat=seat)
        else:
            reason = self._chance.choice(("heartbeat", "left"))
            yield c.DisconnectAgent(seat=seat, reason=reason)

    def direct(self, team: Team) -> Iterator[Command]:
        """A person posts, or overrides a turn."""
        channel = self._any_channel(team)
        if self._chance.random() < 0.7:
            text = self._text(team)
            yield c.PostMessage(channel=channel.id, text=text, speaker_name="Ann")
        elif channel.ring:
            seat = self._chance.choice(channel.ring)
            to = self._chance.choice((TurnState.ACTIVE, TurnState.QUEUED))
            yield c.OverrideTurn(channel=channel.id, seat=seat, to=to)
            yield c.ResumeTurn(channel=channel.id, seat=seat)

    def wish(self, team: Team) -> Iterator[Command]:
        """A person sets the desired state of an agent."""
        agent = self._any_agent(team)
        act = self._chance.randrange(10)
        if act < 6:
            yield c.SetDesired(
                seat=agent.seat,
                desired=(desired := self._chance.choice(list(RunMode))),
                set_by="Ann",
                now=desired is RunMode.PAUSE and self._chance.random() < 0.3,
            )
        elif act == 6:
            yield c.WakeAgents(seats=self._chance.choice(((), (agent.seat,))))
        elif act == 7:
            yield c.SleepAgents(seats=self._chance.choice(((), (agent.seat,))))
        elif act == 8 and agent.authority is Authority.SELF and self._chance.random() < 0.2:
            yield c.RetireAgent(seat=agent.seat)
            yield c.EnrollAgent(name=agent.id, authority=Authority.SELF)
        elif act == 8 and agent.is_listed and self._chance.random() < 0.3:
            yield from self._settle(team, agent)
        elif act == 8:
            yield c.DisableAgent(seat=agent.seat)
        else:
            yield c.EnableAgent(seat=agent.seat)
        if agent.disabled and self._chance.random() < 0.5:
            yield c.EnableAgent(seat=agent.seat)

    def _settle(self, team: Team, agent: Agent) -> Iterator[Command]:
        """The settings rename an agent, leave it out, or name one again that they left out."""
        act = self._chance.random()
        if act < 0.3:
            name = agent.id.removesuffix(" the second")
            yield c.RenameAgent(
                seat=agent.seat, name=f"{name} the second" if name == agent.id else name
            )
        elif act < 0.6 and agent.seat != LEAD_SEAT:
            yield c.DismissAgent(seat=agent.seat)
        else:
            out = [each.seat for each in team.agents.values() if each.is_listed and each.retired]
            yield c.RestoreAgent(seat=self._chance.choice((*sorted(out), agent.seat)))

    def belong(self, team: Team) -> Iterator[Command]:
        """A person adds or removes a member of a channel, or changes its rules."""
        agent, channel = self._any_agent(team), self._any_channel(team)
        act = self._chance.random()
        if act < 0.7:
            yield c.AddMember(channel=channel.id, seat=agent.seat)
        elif act < 0.9:
            yield c.RemoveMember(channel=channel.id, seat=agent.seat)
        else:
            yield c.ConfigureChannel(channel=channel.id, config=self._config())

    def join(self, team: Team) -> Iterator[Command]:
        """An agent joins or leaves a channel, raises its hand, or is handed the messages there."""
        channel = self._any_channel(team)
        seat = self._chance.choice((*channel.ring, self._any_agent(team).seat))
        act = self._chance.randrange(8)
        if act < 3:
            yield c.AddMember(channel=channel.id, seat=self._any_agent(team).seat)
        elif act < 4:
            yield c.RemoveMember(channel=channel.id, seat=seat)
        elif act < 6:
            upto = self._chance.choice((channel.last_message, channel.last_message, channel.newest))
            yield c.DeliverMessages(channel=channel.id, seat=seat, upto=upto)
        else:
            raised = self._chance.random() < 0.8
            yield c.RaiseHand(channel=channel.id, seat=seat, raised=raised)

    def arrange(self, team: Team) -> Iterator[Command]:
        """A person puts a channel aside or brings it back, orders a ring, or sets a timeout."""
        channel = self._any_channel(team)
        ring = list(channel.ring)
        archived = [each.id for each in team.channels.values() if each.archived]
        act = self._chance.randrange(5)
        if archived:
            yield c.ArchiveChannel(channel=self._chance.choice(archived), archived=False)
        elif act == 0:
            yield c.ArchiveChannel(channel=channel.id)
        elif act < 3:
            self._chance.shuffle(ring)
            yield c.OrderRing(channel=channel.id, seats=tuple(ring))
        elif channel.ring:
            seconds = self._chance.choice((None, 5.0))
            seat = self._chance.choice(channel.ring)
            yield c.ConfigureMember(channel=channel.id, seat=seat, timeout_seconds=seconds)

    def lead(self, team: Team) -> Iterator[Command]:
        """Births, and reports of the lead; some by an agent that is not the lead."""
        lead = team.agents[LEAD_SEAT]
        session = self._chance.choice((lead.session, lead.session, SessionId("stranger"), None))
        place = self._chance.choice(GRID_SEATS)
        here = occupant(team, place)
        seat = here.seat if here else in_free_seat(team, _placeholder(place)).grid_position
        act = self._chance.randrange(4)
        if act == 0:
            places = tuple(map(_placeholder, GRID_SEATS))
            yield c.SummonAgents(placeholders=places, authority=Authority.LEAD)
        elif act == 3:
            yield from self._succeed(team, place)
        elif act == 1:
            soul = f"what was written after {team.seq} events"
            profile = e.Profile(name=f"n{seat}", grid_position=seat, individuation_artifact=soul)
            yield c.RegisterAgent(profile=profile, session=session)
        else:
            seats = sorted(each.seat for each in team.agents.values() if each.place in GRID_SEATS)
            listed = self._chance.sample(seats, self._chance.randint(0, len(seats)))
            entries = tuple(e.StatusEntry(grid_position=each) for each in listed)
            yield c.ReportStatus(agents=entries, session=session)

    def _succeed(self, team: Team, place: SeatId) -> Iterator[Command]:
        """A person retires the agent at a place, brings one back, or summons a successor."""
        there = [each.seat for each in team.agents.values() if each.place == place]
        act = self._chance.randrange(3)
        if act == 0:
            free = in_free_seat(team, _placeholder(place))
            yield c.SummonAgents(placeholders=(free,), authority=Authority.LEAD, more=True)
        elif there:
            seat = self._chance.choice(sorted(there))
            yield c.RetireAgent(seat=seat) if act == 1 else c.RestoreAgent(seat=seat)

    def delegate(self, team: Team) -> Iterator[Command]:
        """A conversation moves on: delegated, passed on, finished, closed."""
        delegation = team.delegation
        if delegation.mode is None:
            mode = self._chance.choice(list(e.DelegationMode))
            yield c.StartDelegation(mode=mode, path="p", agents=_DESCRIBED)
            return
        if not delegation.conversations or self._chance.random() < 0.2:
            keeper = self._chance.choice(("", "", "", "claude:s:1@2"))
            yield c.OpenConversation(text="do it", speaker_name="Ann", keeper=keeper)
            return
        conversation = delegation.conversations[
            self._chance.choice(sorted(delegation.conversations))
        ]
        to = self._chance.choice((*_DESCRIBED, "MAIN", "nobody"))
        epoch = self._chance.choice((conversation.epoch, conversation.epoch, 0))
        name = conversation.id
        deeds: list[Command] = [
            c.Delegate(conversation=name, to=to, trigger="it fits", seconds=60),
            c.HandOff(conversation=name, epoch=epoch, to=to, reason="help", seconds=60),
            c.FinishTask(conversation=name, epoch=epoch, failed=self._chance.random() < 0.2),
            c.CloseConversation(conversation=name, summary="done"),
            c.RecordProgress(conversation=name, what="a file"),
            c.CancelConversation(conversation=name),
        ]
        yield self._chance.choice(deeds)
        if self._chance.random() < 0.02:
            yield c.EndDelegation()


def _placeholder(place: SeatId) -> e.Placeholder:
    return e.Placeholder(grid_position=place, color="#aabbcc", gender="woman")
