"""Encryption of push messages: the example of RFC 8291, and a browser that reads any message."""

from cryptography.hazmat.primitives.asymmetric import ec

from muster.notify.push.encryption import PLAIN_BYTES_MAX, RECORD_BYTES, encrypt
from muster.notify.push.subscription import decoded, encoded
from tests.notify.push.receiving import Phone

PRIVATE = "yfWPiYE-n46HLnH0KqZOF1fJJU3MYrct3AELtAQ-oRw"
BROWSER = "BCVxsr7N_eNgVRqvHtD0zTZsEc6-VV-JvLexhqUzORcxaOzi6-AYWXvTBHm4bjyPjs7Vd8pZGH6SRpkNtoIAiw4"
BODY = (
    "DGv6ra1nlYgDCS1FRnbzlwAAEABBBP4z9KsN6nGRTbVYI_c7VJSPQTBtkgcy27mlmlMoZIIgDll6e3vCYLocInmYWAmS6"
    "TlzAC8wEqKK6PBru3jl7A_yl95bQpu6cVPTpK4Mqgkf1CXztLVBSt2Ks3oZwbuwXPXLWyouBWLVWGNWQexSgSxsj_Qulc"
    "y4a-fN"
)


def test_the_example_of_the_standard_is_encrypted_alike() -> None:
    number = int.from_bytes(decoded(PRIVATE), "big")
    body = encrypt(
        b"When I grow up, I want to be a watermelon",
        decoded(BROWSER),
        decoded("BTBZMqHH6r4Tts7J_aSIgg"),
        own_key=ec.derive_private_key(number, ec.SECP256R1()),
        salt=decoded("DGv6ra1nlYgDCS1FRnbzlw"),
        padding=0,
    )
    assert encoded(body) == BODY


def test_a_browser_reads_messages_of_every_length_and_none_is_too_long_for_a_push_service() -> None:
    phone = Phone()
    lengths: set[int] = set()
    for size in (0, 1, 511, 512, PLAIN_BYTES_MAX):
        body = encrypt(b"x" * size, phone.public, phone.auth)
        assert phone.decrypted(body) == b"x" * size
        assert len(body) <= RECORD_BYTES
        lengths.add(len(body))
    assert len(lengths) == 3  # short messages cannot be told apart by their length
    assert encrypt(b"x", phone.public, phone.auth) != encrypt(b"x", phone.public, phone.auth)
