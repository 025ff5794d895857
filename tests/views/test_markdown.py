"""Hostile text becomes harmless HTML, and prose stays prose."""

import re
from html.parser import HTMLParser
from time import process_time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from muster.views import markdown
from muster.views.markdown import BRACKETS_MAX, RENDERED_CHARS_MAX, render
from muster.worker.limits import TimeIsUp

HARMLESS = {
    *("a", "blockquote", "br", "code", "em", "h1", "h2", "h3", "h4", "h5", "h6", "hr", "li"),
    *("ol", "p", "pre", "s", "strong", "table", "tbody", "td", "th", "thead", "tr", "ul"),
}
ATTRIBUTES = {
    "a": {"href", "rel", "target", "title"},
    "code": {"class"},
    "ol": {"start"},
    "td": {"class"},
    "th": {"class"},
}


class Seen(HTMLParser):
    """The elements and attributes that a browser would find."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.wrong: list[str] = []
        self.links: list[str] = []
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.wrong += [f"{tag} {name}" for name, _ in attrs if name not in ATTRIBUTES.get(tag, ())]
        self.links += [value or "" for name, value in attrs if name == "href"]


def test_prose_is_rendered() -> None:
    html = render("# Hi\n\nI **am** `here`.\n\n- one\n- two\n\n| a | b |\n|---|--:|\n| 1 | 2 |")
    assert {"h1", "strong", "code", "li", "td"} <= Seen(html).tags
    assert '<td class="right">2</td>' in html  # the page's policy refuses styles


def test_a_line_break_of_a_message_stays_one_and_that_of_a_document_is_a_space() -> None:
    text = "first\nsecond\n\n- a\n- b\n\n```\nx = 1\ny = 2\n```"
    assert "first\nsecond" in render(text)
    assert Seen(html := render(text, breaks=True)).tags == {"p", "br", "ul", "li", "pre", "code"}
    assert html.count("<br") == 1  # code and lists have their own lines
    assert "first<br />\nsecond" in html


@pytest.mark.parametrize(
    ("text", "links"),
    [
        ("See https://a.example/x_y_z?q=1#t.", ["https://a.example/x_y_z?q=1#t"]),
        (
            "(HTTP://a.example/w_(x)), **https://b.example**!",
            ["HTTP://a.example/w_(x)", "https://b.example"],
        ),
        (
            "[here](https://a.example) and <https://b.example>",
            ["https://a.example", "https://b.example"],
        ),
        ("`https://a.example` javascript://x https:// ftp://a.example", []),
        ('https://a.example/"onclick=1 https://[', ["https://a.example/"]),
    ],
)
def test_an_address_in_a_text_is_a_link(text: str, links: list[str]) -> None:
    seen = Seen(render(text))
    assert (seen.links, seen.wrong) == (links, [])


def test_many_addresses_take_no_longer_than_their_length() -> None:
    start = process_time()
    render("https://" + ")" * 30_000)
    render("https://a.example/)))) " * 1400)
    assert process_time() - start < 2


@pytest.mark.parametrize(
    "text",
    [
        "<script>alert(1)</script>",
        "<img src=x onerror=alert(1)>",
        "a <b onclick='alert(1)'>b</b> <style>*{display:none}</style>",
        "[a](javascript:alert(1))",
        "[a](JaVaScRiPt:alert(1)) [b](data:text/html,x) [c](vbscript:x) [d](file:///etc/passwd)",
        "[a](&#106;avascript:alert(1)) [b](//evil.test/x) [c](/api/session) [d]( javascript:x)",
        '[a](https://example.org "\\" onmouseover=alert(1)")',
        "![x](http://evil.test/?secret) ![y](javascript:alert(1))",
        "```<script>\n<script>alert(1)</script>\n```",
        "<javascript:alert(1)> <https://example.org/\"onmouseover='alert(1)'>",
        "a\0b \ud800 \u202e c",
    ],
)
def test_hostile_text_is_harmless(text: str) -> None:
    _is_harmless(render(text))
    _is_harmless(render(text, breaks=True))


@given(st.text(alphabet="ab<>[]()!`*_#|:-\"'&/\\\n\0 \u202ejavscript:", max_size=80))
def test_no_text_is_harmful(text: str) -> None:
    _is_harmless(render(text))
    _is_harmless(render(text, breaks=True))


def _is_harmless(html: str) -> None:
    seen = Seen(html)
    assert seen.tags <= HARMLESS
    assert not seen.wrong
    assert all(re.match("(?:https?:|mailto:)", link) for link in seen.links), seen.links


def test_a_link_without_an_address_leads_nowhere() -> None:
    seen = Seen(render("[a]() ![b]()"))
    assert (seen.links, seen.wrong) == ([], [])


def test_a_link_leads_outside_and_tells_nobody_where_it_was() -> None:
    html = render("[a](https://example.org) <mailto:ada@example.org>")
    assert Seen(html).links == ["https://example.org", "mailto:ada@example.org"]
    assert html.count('rel="noopener noreferrer nofollow"') == 2


def test_an_image_becomes_a_link() -> None:
    html = render("![a <cat>](https://example.org/cat.png)")
    assert Seen(html).tags == {"p", "a"}
    assert "image: a &lt;cat&gt;" in html


@pytest.mark.parametrize(
    "text", ["[" * 32_000, "![" * 16_000, "![[](" * 6500, "[" * BRACKETS_MAX + "a" * 31_000]
)
def test_brackets_that_begin_no_link_take_no_time(text: str) -> None:
    began = process_time()
    _is_harmless(render(text))
    assert process_time() - began < 0.3  # it was 1.4 s


@pytest.mark.parametrize("text", ["[" * 30_000, ">" * 30_000, "*a " * 10_000, "`" * 30_000])
def test_pathological_markdown_is_rendered_in_bounded_time(text: str) -> None:
    began = process_time()  # whatever else the machine does
    _is_harmless(render(text))
    assert process_time() - began < 5


def test_a_text_that_is_too_long_is_shown_as_it_is() -> None:
    html = render("# <b>\n" * RENDERED_CHARS_MAX)
    assert html.startswith("<pre># &lt;b&gt;\n")
    assert Seen(html).tags == {"pre"}


def test_texts_that_are_left_when_the_time_is_up_are_shown_without_rendering(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def slow(text: str, *, breaks: bool = False) -> str:
        if text == "*b*":
            raise TimeIsUp
        return render(text, breaks=breaks)

    monkeypatch.setattr(markdown, "render", slow)
    html = markdown.render_all(("*a*", "*b*", "*c*"))
    assert html == ("<p><em>a</em></p>\n", "<pre>*b*</pre>", "<pre>*c*</pre>")
