"""The `[notify.NAME]` tables: read, and refused with a line."""

from datetime import time
from pathlib import Path

import pytest

from muster.errors import BadSettings
from muster.settings.in_force import changes_between
from muster.settings.model import Settings, parse_settings
from muster.settings.notify import QuietHours

PHONE = '[notify.phone]\nkind = "ntfy"\nurl = "https://ntfy.example/team"\n'


def parse(text: str) -> Settings:
    return parse_settings(Path("muster.toml"), text, {})


def test_a_target_is_read() -> None:
    phone = parse(PHONE + 'quiet = "22:00-07:00"\nabout = ["needs"]\n').notify["phone"]

    assert (phone.kind, phone.about) == ("ntfy", ("needs",))
    assert phone.quiet_hours == QuietHours(time(22), time(7))


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("notify = 3\n", "notify is 3"),
        ("[notify]\nphone = 3\n", "not a table"),
        ("[notify.x]\nurl = 'ftp://a/b'\n", "begins with https:// or http://"),
        ("[notify.x]\n", "begins with https:// or http://"),
        ("[notify.x]\nkind = 'ntfy'\nurl = 'https://ntfy.example/'\n", "Write the topic"),
        ("[notify.x]\nkind = 'email'\nurl = 'smtp://m'\n", "Write both addresses"),
        ("[notify.x]\nkind = 'command'\n", "has no command"),
        ("[notify.x]\nkind = 'pigeon'\n", 'one of "webhook"'),
        (PHONE + "quiet = '25:00-07:00'\n", "Write it as 22:00-07:00"),
        (PHONE + "abuot = ['needs']\n", "Did you mean about"),
        (PHONE + "about = ['gossip']\n", "notify.phone.about is"),
    ],
)
def test_a_mistake_in_a_target_is_refused_with_its_line(text: str, why: str) -> None:
    with pytest.raises(BadSettings) as refused:
        parse(text)

    assert why in str(refused.value)
    assert str(refused.value).startswith(("muster.toml:1:", "muster.toml:2:"))


def test_quiet_hours_may_go_over_midnight() -> None:
    night, noon = QuietHours(time(22), time(7)), QuietHours(time(12), time(13))

    assert [night.contains(time(hour)) for hour in (21, 22, 3, 7)] == [False, True, True, False]
    assert [noon.contains(time(hour)) for hour in (11, 12, 13)] == [False, True, False]


def test_a_changed_target_is_named_in_the_log() -> None:
    old, new = parse(PHONE), parse(PHONE.replace("team", "others"))

    assert changes_between(old, new) == ("notify.phone",)
    assert changes_between(Settings(), new) == ("notify.phone added",)
    assert changes_between(new, Settings()) == ("notify.phone removed",)
