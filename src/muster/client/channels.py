"""The methods of both clients about channels and their messages, written once."""

from collections.abc import Mapping, Sequence

from muster.client import channel_requests, requests
from muster.client.sending import RequestSender
from muster.client.sync_or_async import sync_or_async
from muster.machines.vocabulary import AttachedFile, TurnState
from muster.views.answers import Recorded
from muster.views.answers.channels import ChannelList, ChannelState, TurnOverridden
from muster.views.answers.messages import MessagePage, SearchPage


class ChannelMethods(RequestSender):
    """Channels: their rules, members, order and messages."""

    @sync_or_async
    async def create_channel(
        self, name: str, config: Mapping[str, object] | None = None, members: Sequence[str] = ()
    ) -> ChannelState:
        """Create a channel with its members, in the order of their turns; all or nothing."""
        return await self._ask(requests.create_channel(name, config, members))

    @sync_or_async
    async def channel(self, name: str) -> ChannelState:
        """A channel: its ring, holder, epoch, deadline and members."""
        return await self._ask(requests.channel(name))

    @sync_or_async
    async def channels(self, *, archived: bool = False) -> ChannelList:
        """Every channel; with `archived` those too that were archived."""
        return await self._ask(requests.channels(archived=archived))

    @sync_or_async
    async def configure_channel(self, name: str, config: Mapping[str, object]) -> ChannelState:
        """Change some rules of a channel, by their names in JSON (`defaultTimeoutSeconds`)."""
        return await self._ask(requests.configure_channel(name, config))

    @sync_or_async
    async def archive(self, channel: str) -> ChannelState:
        """Archive a channel: no turn is granted in it until it is restored."""
        return await self._ask(channel_requests.archive_channel(channel))

    @sync_or_async
    async def restore(self, channel: str) -> ChannelState:
        """Bring an archived channel back."""
        return await self._ask(channel_requests.restore_channel(channel))

    # ── members ───────────────────────────────────────────────────────────────────────────────────

    @sync_or_async
    async def add_member(
        self, channel: str, agent: str, timeout_seconds: float | None = None
    ) -> ChannelState:
        """Give an agent a place at the end of a channel's ring."""
        return await self._ask(requests.add_member(channel, agent, timeout_seconds))

    @sync_or_async
    async def remove_member(self, channel: str, agent: str) -> ChannelState:
        """Take an agent's place in a channel away. Only a person can add it again."""
        return await self._ask(requests.remove_member(channel, agent))

    @sync_or_async
    async def order(self, channel: str, agents: Sequence[str]) -> ChannelState:
        """Set the order in which the members of a channel take turns."""
        return await self._ask(channel_requests.order_ring(channel, agents))

    @sync_or_async
    async def set_timeout(
        self, channel: str, agent: str, timeout_seconds: float | None
    ) -> ChannelState:
        """Set the turn timeout of a member; None is the channel's default."""
        return await self._ask(channel_requests.configure_member(channel, agent, timeout_seconds))

    @sync_or_async
    async def raise_hand(self, channel: str, agent: str, *, raised: bool = True) -> ChannelState:
        """Raise the hand of a member, which speaks before the ring's next; or lower it."""
        return await self._ask(channel_requests.raise_hand(channel, agent, raised=raised))

    @sync_or_async
    async def next_speaker(self, channel: str, agent: str) -> TurnOverridden:
        """Let a member speak next: now if no member has the turn, else after this turn."""
        return await self._ask(requests.override_turn(channel, TurnState.ACTIVE, agent=agent))

    @sync_or_async
    async def take_turn_away(self, channel: str, agent: str | None = None) -> TurnOverridden:
        """Take the turn away from its holder; the next member is granted it."""
        return await self._ask(requests.override_turn(channel, TurnState.QUEUED, agent=agent))

    # ── messages ──────────────────────────────────────────────────────────────────────────────────

    @sync_or_async
    async def post(
        self,
        channel: str,
        message: str,
        *,
        reply_to: int | None = None,
        files: Sequence[str] = (),
    ) -> Recorded:
        """Post a message in a channel; `files` are digests of uploaded files."""
        return await self._ask(requests.post(channel, message, reply_to=reply_to, files=files))

    @sync_or_async
    async def messages(
        self,
        channel: str,
        *,
        after: int = 0,
        before: int | None = None,
        limit: int | None = None,
        newest_first: bool = False,
    ) -> MessagePage:
        """Messages of a channel, with their delivery to each member."""
        return await self._ask(
            requests.messages(
                channel, after=after, before=before, limit=limit, newest_first=newest_first
            )
        )

    @sync_or_async
    async def search(
        self,
        words: str,
        *,
        channel: str | None = None,
        agent: str | None = None,
        before: int | None = None,
        limit: int | None = None,
    ) -> SearchPage:
        """Messages that have all of these words, newest first."""
        return await self._ask(
            requests.search(words, channel=channel, agent=agent, before=before, limit=limit)
        )

    @sync_or_async
    async def upload_file(self, name: str, content: bytes) -> AttachedFile:
        """Upload a file; a message names it by its digest."""
        return await self._ask(requests.upload_file(name, content))

    @sync_or_async
    async def send(
        self,
        message: str,
        *,
        to: str | None = None,
        channel: str | None = None,
        reply_to: int | None = None,
        files: Sequence[str] = (),
    ) -> Recorded:
        """Send a message to an agent, to a channel, or to the lead."""
        return await self._ask(
            requests.send(message, to=to, channel=channel, reply_to=reply_to, files=files)
        )

    @sync_or_async
    async def export(self, channel: str, form: str = "markdown") -> str:
        """All messages of a channel, as `markdown` or `json`."""
        return (await self._ask(channel_requests.export(channel, form))).decode()
