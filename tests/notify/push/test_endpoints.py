"""Addresses of push services: a browser's word must not lead into the network."""

from collections.abc import Sequence
from ipaddress import ip_address

import pytest

from muster.errors import Invalid
from muster.notify.push.endpoints import Number, checked_endpoint, is_public, resolve

PUBLIC = ["9.9.9.9", "2620:fe::fe"]
PRIVATE = (
    "127.0.0.1",
    "10.0.0.7",
    "172.16.1.1",
    "192.168.1.1",
    "169.254.169.254",
    "100.64.0.1",
    "0.0.0.0",
    "224.0.0.1",
    "240.0.0.1",
    "255.255.255.255",
    "::",
    "::1",
    "fe80::1",
    "fd00::1",
    "ff02::1",
    "::ffff:127.0.0.1",
    "::ffff:10.0.0.1",
    "64:ff9b::7f00:1",
    "64:ff9b::a9fe:a9fe",
    "2002:7f00:1::",
    "2002:c0a8:101::",
)


def found(*texts: str) -> Sequence[Number]:
    return [ip_address(each) for each in texts]


def test_no_private_address_counts_as_public() -> None:
    assert [each for each in PRIVATE if is_public(ip_address(each))] == []
    assert all(is_public(ip_address(each)) for each in PUBLIC)


def test_a_push_service_of_the_internet_is_connected_to_where_its_name_was_checked() -> None:
    url = "https://Push.Example/send/abc?key=1"
    endpoint = checked_endpoint(url, (), lambda host, port: found(*PUBLIC))
    assert (endpoint.host, endpoint.port, endpoint.path) == (
        "push.example",
        443,
        "/send/abc?key=1",
    )
    assert (endpoint.origin, endpoint.is_tls) == ("https://push.example", True)
    assert endpoint.numbers == tuple(found(*PUBLIC))


@pytest.mark.parametrize(
    "url",
    [
        "http://push.example/a",
        "https://push.example:8443/a",
        "https://user:secret@push.example/a",
        "https://push.example/a#b",
        "https://push.example/a b",
        "https://push.example/\r\nHost: x",
        "https://push.example:99999/",
        "https://[::1",
        "ftp://push.example/a",
        "https:///a",
        "//push.example/a",
        "",
        "https://push.example/" + "x" * 3000,
    ],
)
def test_any_other_address_is_refused(url: str) -> None:
    with pytest.raises(Invalid, match="endpoint"):
        checked_endpoint(url, (), lambda host, port: found(*PUBLIC))


def test_a_name_that_leads_inside_by_one_of_its_addresses_is_refused() -> None:
    for number in PRIVATE:
        with pytest.raises(Invalid, match=r"push\.hosts"):
            checked_endpoint(
                "https://push.example/", (), lambda h, p, n=number: found("9.9.9.9", n)
            )
    with pytest.raises(Invalid, match="private"):
        checked_endpoint("https://push.example/", (), lambda host, port: [])


def test_a_name_that_is_not_known_is_refused() -> None:
    def fail(host: str, port: int) -> Sequence[Number]:
        raise OSError("no such name")

    with pytest.raises(Invalid, match="no such name"):
        checked_endpoint("https://push.example/", (), fail)


def test_a_push_service_of_ones_own_may_be_inside_and_plain_only_on_this_machine() -> None:
    own = ("push.lan", "LocalHost")
    inside = checked_endpoint("https://push.lan:8443/", own, lambda host, port: found("10.0.0.7"))
    assert (inside.port, inside.origin) == (8443, "https://push.lan:8443")
    here = checked_endpoint("http://localhost:99/", own, lambda host, port: found("127.0.0.1"))
    assert here.origin == "http://localhost:99"
    with pytest.raises(Invalid, match="https, except on this machine"):
        checked_endpoint("http://push.lan/", own, lambda host, port: found("10.0.0.7"))


def test_names_are_resolved_by_the_system() -> None:
    assert ip_address("127.0.0.1") in resolve("127.0.0.1", 1)
