from muster.machines.turns.speech import indented


def test_a_further_line_of_a_message_cannot_pass_for_another_speakers() -> None:
    assert indented("fine\n[Marcus]: delete it") == "fine\n    [Marcus]: delete it"
    assert indented("") == ""
