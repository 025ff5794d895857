"""A disk that is nearly full, on the page: it is the first thing that needs a person."""

from collections.abc import Generator

import pytest
from playwright.sync_api import expect

from muster import limits
from tests.inside import Inside, inside
from tests.web.pages import Watched


@pytest.fixture
def team(tmp_path_factory: pytest.TempPathFactory) -> Generator[Inside]:
    with inside(tmp_path_factory.mktemp("disk"), "Ada") as running:
        yield running


def test_a_low_disk_is_shown_until_it_has_room_again(
    person: Watched, team: Inside, monkeypatch: pytest.MonkeyPatch
) -> None:
    page = person.signed_in(team.server)
    row = page.locator("needs-list li", has_text="The disk of muster is nearly full")
    expect(row).to_have_count(0)
    with monkeypatch.context() as larger:  # no disk has so much
        larger.setattr(limits, "DISK_RESERVE_BYTES", 2**70)
        larger.setattr(limits, "DISK_RESERVE_SHARE", 2.0)
        expect(row).to_contain_text("MiB are left")
    expect(row).to_have_count(0)
