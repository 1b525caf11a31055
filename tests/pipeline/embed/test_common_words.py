"""The commonest English words are those of the bundled model."""

from syntropy.contract.common_words import common_words
from tests import generated_common_words


def test_common_words_are_those_of_the_model():
    assert generated_common_words.TARGET.read_text() == generated_common_words.common_words_module()
    assert {"suppos", "kept", "awai"} <= common_words()
    assert not {"kubernet", "terraform", "saml"} & common_words()
