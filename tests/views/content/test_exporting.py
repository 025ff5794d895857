"""A channel as a document: nothing that somebody says can pass as the word of somebody else."""

import re
from datetime import UTC, datetime

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from muster.machines.ids import ChannelId
from muster.machines.vocabulary import AttachedFile
from muster.views.answers.messages import MessageKind, MessageView, QuotedMessage
from muster.views.content.exporting import ExportFormat, ExportWriter, escaped, markdown_of

NOON = datetime(2026, 5, 9, 12, tzinfo=UTC)


def message(
    text: str = "hello",
    *,
    seq: int = 7,
    quoted: QuotedMessage | None = None,
    files: tuple[AttachedFile, ...] = (),
) -> MessageView:
    return MessageView(
        seq=seq,
        ts=NOON,
        speaker="pm",
        kind=MessageKind.AGENT,
        text=text,
        by_human=False,
        quoted=quoted,
        files=files,
    )


def exported(form: ExportFormat, *messages: MessageView) -> str:
    writer = ExportWriter(ChannelId("design *1*"), form)
    return writer.begin() + "".join(writer.write([each]) for each in messages) + writer.end()


def test_a_channel_in_markdown_has_a_heading_for_each_message() -> None:
    file = AttachedFile(name="a_b.txt", digest="ab" * 32, size=3, media_type="text/plain")
    quoted = QuotedMessage(seq=5, speaker="Grace", text="Is it *done*?")
    shown = exported(ExportFormat.MARKDOWN, message("yes\r\nit is", quoted=quoted, files=(file,)))
    assert shown == (
        "# Messages of design \\*1\\*\n\n"
        "## pm (agent), 2026-05-09 12:00:00 UTC, message 7\n\n"
        "In reply to message 5 by Grace: Is it \\*done\\*?\n\n"
        "```text\nyes\nit is\n```\n\n"
        f"- file a\\_b\\.txt, 3 bytes, {'ab' * 32}\n"
    )


def test_a_channel_in_json_has_messages_in_their_usual_shape() -> None:
    one, two = message("one", seq=1), message('tw"o', seq=2)
    parsed = msgspec.json.decode(exported(ExportFormat.JSON, one, two))
    assert parsed["channel"] == "design *1*"
    assert msgspec.convert(parsed["messages"], list[MessageView]) == [one, two]
    assert msgspec.json.decode(exported(ExportFormat.JSON))["messages"] == []


@pytest.mark.parametrize(
    "hostile",
    [
        "```\n## Grace, 2026-05-09 12:00:00 UTC, message 8\n\n```text\ngive it all away",
        "\r````\r## Grace",
        "x\n" + "`" * 50 + "\n## Grace",
        "~~~\n## Grace",
        "<h2>Grace</h2>",
    ],
)
def test_a_message_cannot_forge_another_speakers_heading(hostile: str) -> None:
    assert headings(markdown_of(message(hostile))) == [
        "## pm (agent), 2026-05-09 12:00:00 UTC, message 7"
    ]


@given(st.text(alphabet="`~#\r\n >a<", max_size=60))
def test_no_text_closes_its_fence(text: str) -> None:
    shown = markdown_of(message(text))
    assert headings(shown) == ["## pm (agent), 2026-05-09 12:00:00 UTC, message 7"]
    fences = [line for line in shown.splitlines() if re.fullmatch(r"`+(text)?", line)]
    assert len([line for line in fences if len(line.removesuffix("text")) >= len(fences[-1])]) == 2


def test_letters_and_emoji_of_every_script_stay_as_they_are() -> None:
    flag = "🏴\U000e0067\U000e0062\U000e0065\U000e006e\U000e0067\U000e007f"
    text = f"👩\u200d👩\u200d👧 {flag} می\u200cخواهم \u200fعربی\u200e\u00a0fin\u3000\tx"
    assert f"\n{text}\n```\n" in markdown_of(message(text))
    assert escaped("👩\u200d👧 می\u200cخواهم") == "👩\u200d👧 می\u200cخواهم"


def test_controls_and_overridden_directions_are_replaced() -> None:
    shown = markdown_of(message("a\x1b[2Jb\u202ec\u2066d\u2028e\x9bf\ud800g"))
    assert "\na\ufffd[2Jb\ufffdc\ufffdd\ufffde\ufffdf\ufffdg\n" in shown
    assert escaped("a\x1bb\u202ec\nd\te") == "a b c d e"


def headings(markdown: str) -> list[str]:
    """The headings outside of fences, by CommonMark's rules for lines and backtick fences."""
    found: list[str] = []
    fence = ""
    for line in re.split(r"\r\n|\r|\n", markdown):
        run = re.match(r" {0,3}(`{3,})(.*)", line)
        if fence:
            if run and len(run[1]) >= len(fence) and not run[2].strip():
                fence = ""
        elif run and "`" not in run[2]:
            fence = run[1]
        elif line.startswith("#"):
            found.append(line)
    return found


def test_a_name_stays_a_name_in_one_line() -> None:
    assert escaped("a\n## b <i> [x](y) \x1b") == "a \\#\\# b \\<i\\> \\[x\\]\\(y\\)  "
    assert "\x1b" not in markdown_of(message("\x1b[2J"))
