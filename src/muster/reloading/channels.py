"""Creates the channels of the settings, each once.

A channel that exists, an archived one too, is left as people have made it since.
"""

from collections.abc import Mapping

from muster.engine.dispatcher import Dispatcher
from muster.errors import Refused
from muster.machines.commands import CreateChannel, LogWarning
from muster.machines.ids import MUSTER, ChannelId, name_key
from muster.settings.channels import ChannelSettings


async def create_channels(dispatcher: Dispatcher, channels: Mapping[str, ChannelSettings]) -> None:
    """Create the channels that the team does not have. One that cannot be is put on record."""
    for name, settings in channels.items():
        team = dispatcher.team
        if name in team.channels:
            continue
        members = tuple(
            team.names[name_key(each)] for each in settings.members if name_key(each) in team.names
        )
        create = CreateChannel(channel=ChannelId(name), config=settings.config, members=members)
        try:
            await dispatcher.send(create, actor=MUSTER)
        except Refused as refused:
            text = f"the channel {name!r} of the settings was not created: {refused}"
            await dispatcher.send(LogWarning(text=text), actor=MUSTER)
