"""A short crowd of real Claude Codes; by hand it has eight of them, each killed twice."""

from tests.stress.claude_crowd import play


def test_no_message_is_lost_while_claude_codes_are_killed() -> None:
    crowd = play(agents=2, kills=2)
    assert crowd.lost == (), str(crowd)
    assert crowd.pss_mb < 70, str(crowd)
