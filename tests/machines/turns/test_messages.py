"""Messages and their delivery to their recipients."""

import pytest
from msgspec.structs import replace

from muster.machines import attachments
from muster.machines import commands as c
from muster.machines import events as e
from muster.machines.ids import LEAD_SEAT, SeatId
from muster.machines.vocabulary import AttachedFile, Authority, Role, TurnConfig
from tests.machines.scene import REVIEWS, Scene, facts
from tests.machines.turns.test_turns import trio
from tests.test_images import jpeg, png


def test_a_direct_message_waits_for_its_recipient_only() -> None:
    scene = trio()
    dev = scene.seat("dev")
    send = c.SendMessage(text="hello dev", speaker_name="Marcus", seat=dev)
    [message] = facts(scene.do(send, key="k"), e.UserMessage)
    assert (message.target_agent, message.seat, message.deliver_to) == ("dev", dev, (dev,))
    assert scene.agent("dev").last_message == scene.team.seq
    assert scene.agent("pm").last_message == 0
    scene.refuse(send, "repeated", key="k")


def test_a_message_without_a_recipient_goes_to_the_lead_if_there_is_one() -> None:
    scene = trio()
    send = c.SendMessage(text="hello", speaker_name="Marcus")
    scene.refuse(send, "no_lead")
    scene.do(c.EnrollAgent(name="Julian", authority=Authority.SELF, seat=LEAD_SEAT))
    [message] = facts(scene.do(send), e.UserMessage)
    assert (message.target_agent, message.seat) == (None, LEAD_SEAT)
    scene.refuse(c.SendMessage(text="x", speaker_name="Marcus", seat=SeatId(99)), "not_found")
    scene.refuse(c.SendMessage(text="", speaker_name="Marcus"), "invalid")


FILE = AttachedFile(name="plan.png", digest="ab" * 32, size=3, media_type="image/png")


def test_a_message_keeps_what_it_answers_and_its_files() -> None:
    scene = trio()
    [asked] = scene.posts("ready?")
    answer = c.PostMessage(
        channel=REVIEWS, text="x", speaker_name="Marcus", reply_to=asked.seq, files=(FILE,)
    )
    [message] = facts(scene.do(answer), e.UserMessage)
    assert (message.reply_to, message.files) == (asked.seq, (FILE,))
    speak = c.Speak(
        channel=REVIEWS, seat=scene.seat("pm"), text="yes", reply_to=asked.seq, files=(FILE,)
    )
    [spoken] = facts(scene.do(speak), e.AgentMessage)
    assert (spoken.reply_to, spoken.files) == (asked.seq, (FILE,))
    direct = c.SendMessage(
        text="psst", speaker_name="Marcus", seat=scene.seat("dev"), files=(FILE,)
    )
    [told] = facts(scene.do(direct), e.UserMessage)
    assert told.files == (FILE,)


def test_a_reply_to_nothing_and_files_that_cannot_be_are_refused() -> None:
    scene = trio()
    last = scene.posts("ready?")[0].seq
    post = c.PostMessage(channel=REVIEWS, text="x", speaker_name="Marcus")
    for seq in (0, -1, last + 1):
        scene.refuse(replace(post, reply_to=seq), "not_found")
    many = tuple(replace(FILE, digest=f"{number:064x}") for number in range(17))
    for files in (
        many,
        (FILE, FILE),
        (replace(FILE, digest="../x"),),
        (replace(FILE, name="../x"),),
        (replace(FILE, name=""),),
    ):
        scene.refuse(replace(post, files=files), "invalid")
        speak = c.Speak(channel=REVIEWS, seat=scene.seat("pm"), text="x", files=files)
        scene.refuse(speak, "invalid")


def test_delivery_only_moves_forward_and_not_past_the_newest_message() -> None:
    scene = trio()
    dev = scene.seat("dev")
    scene.posts("one")
    first = scene.channel().last_message
    deliver = c.DeliverMessages(seat=dev, channel=REVIEWS, upto=first + 100)
    [delivered] = facts(scene.do(deliver), e.MessagesDelivered)
    assert delivered.upto == first
    assert scene.do(deliver) == []
    assert scene.channel().delivered == {dev: first}
    assert scene.do(c.DeliverMessages(seat=dev, upto=5)) == []  # no direct message to it
    scene.do(c.SendMessage(text="you", speaker_name="Marcus", seat=dev))
    scene.do(c.DeliverMessages(seat=dev, upto=scene.team.seq))
    assert scene.agent("dev").delivered == scene.agent("dev").last_message
    scene.connected("ops")
    stranger = c.DeliverMessages(seat=scene.seat("ops"), channel=REVIEWS, upto=first)
    scene.refuse(stranger, "not_a_member")


def test_ending_a_turn_marks_delivered_messages_as_read() -> None:
    scene = trio(TurnConfig(rest_after_idle_rounds=9))
    pm = scene.seat("pm")
    scene.posts("one")
    upto = scene.channel().last_message
    scene.do(c.DeliverMessages(seat=pm, channel=REVIEWS, upto=upto))
    assert scene.channel().read == {}
    scene.complete("pm")
    assert scene.channel().read == {pm: upto}
    scene.do(c.RemoveMember(channel=REVIEWS, seat=pm))
    scene.do(c.AddMember(channel=REVIEWS, seat=pm))
    assert scene.channel().delivered == {pm: upto}  # no second delivery after a return


def test_a_timeout_leaves_messages_unread_unless_the_agent_spoke() -> None:
    scene = trio()
    pm, dev = scene.seat("pm"), scene.seat("dev")
    scene.posts("one")
    upto = scene.channel().last_message
    scene.do(c.DeliverMessages(seat=pm, channel=REVIEWS, upto=upto))
    scene.later(60)
    assert scene.holder() == "dev"
    assert scene.channel().read == {}
    scene.do(c.DeliverMessages(seat=dev, channel=REVIEWS, upto=upto))
    scene.says("dev")
    scene.later(60)
    assert scene.channel().read == {dev: upto}


def test_what_is_handed_over_after_the_last_post_comes_again_after_a_timeout() -> None:
    scene = trio()
    pm = scene.seat("pm")
    scene.posts("one")
    upto = scene.channel().last_message
    scene.handed("pm")
    scene.says("pm")
    scene.posts("two")
    scene.handed("pm")  # and the answer is lost, with the agent
    scene.later(60)
    assert scene.holder() == "dev"
    assert scene.channel().read == {pm: upto}


@pytest.mark.parametrize("waits", [False, True])
def test_a_turn_whose_program_crashes_after_a_post_comes_again_with_its_messages(
    *, waits: bool
) -> None:
    scene = Scene()
    scene.running("pm", unasked=False)
    scene.channel_of("pm")
    scene.posts("Build it.")
    scene.handed("pm")
    scene.says("pm", "I begin.")
    if waits:
        scene.do(c.WaitTurn(channel=REVIEWS, seat=scene.seat("pm"), reason="the build"))
    scene.ends("pm", e.Outcome.FAILED)
    assert scene.channel().read == {}
    scene.later(1)
    scene.up("pm")
    assert scene.holder() == "pm"
    scene.handed("pm")
    scene.ends_with("pm", "It is built.")
    scene.ends("pm", e.Outcome.FAILED)
    scene.later(60)
    scene.up("pm")
    assert scene.holder() is None  # the work is done


def test_an_agent_that_connects_by_itself_has_read_what_it_answered() -> None:
    scene = trio()
    pm = scene.seat("pm")
    scene.posts("one")
    upto = scene.channel().last_message
    scene.handed("pm")
    scene.says("pm")
    scene.do(c.DisconnectAgent(seat=pm, reason="no heartbeat"))
    assert scene.channel().read == {pm: upto}


def test_the_length_of_a_message_is_limited_in_bytes() -> None:
    scene = trio()
    scene.posts("x" * (1024 * 1024))
    long = c.PostMessage(channel=REVIEWS, text="ä" * (1024 * 600), speaker_name="Marcus")
    scene.refuse(long, "invalid")


# ── tokens ────────────────────────────────────────────────────────────────────────────────────────


def token(name: str, role: Role, seat: SeatId | None = None) -> c.IssueToken:
    return c.IssueToken(token_id=name, role=role, digest=f"digest of {name}", seat=seat)


def test_a_token_is_known_by_its_digest_until_it_is_revoked() -> None:
    scene = trio()
    scene.do(token("marcus", Role.OPERATOR))
    scene.do(token("pm-1", Role.AGENT, scene.seat("pm")))
    known = scene.team.tokens["digest of pm-1"]
    assert (known.role, known.seat) == (Role.AGENT, scene.seat("pm"))
    scene.do(c.RevokeToken(token_id="pm-1"))
    assert set(scene.team.tokens) == {"digest of marcus"}
    scene.refuse(c.RevokeToken(token_id="pm-1"), "not_found")


@pytest.mark.parametrize(
    ("command", "code"),
    [
        (token("first", Role.VIEWER), "token_exists"),
        (token("agent", Role.AGENT), "invalid"),
        (token("viewer", Role.VIEWER, SeatId(9)), "invalid"),
        (token("ghost", Role.AGENT, SeatId(99)), "not_found"),
        (token("a/b", Role.VIEWER), "invalid"),
    ],
)
def test_an_invalid_token_is_refused(command: c.IssueToken, code: str) -> None:
    scene = trio()
    scene.do(token("first", Role.VIEWER))
    scene.refuse(command, code)


@pytest.mark.parametrize(
    ("name", "content", "media_type"),
    [
        ("plan.PNG", png(), "image/png"),
        ("photo.png", jpeg(), "image/jpeg"),
        ("broken.png", png()[:8], attachments.ANY_BYTES),
        ("page.png", b"<script>", attachments.ANY_BYTES),
        ("notes.txt", png(), "text/plain"),
        ("page.html", b"<p>", attachments.ANY_BYTES),
        ("README", b"", attachments.ANY_BYTES),
    ],
)
def test_only_harmless_files_are_served_with_the_media_type_of_their_content(
    name: str, content: bytes, media_type: str
) -> None:
    assert attachments.media_type_of(name, content) == media_type


def test_a_file_is_stored_under_the_digest_of_its_content() -> None:
    assert attachments.stored_path("ab12") == f"{attachments.FILES_FOLDER}/ab/12"
