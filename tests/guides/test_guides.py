"""The code blocks of the README and the guides: each is run, or a table says why it is not."""

from contextlib import closing
from pathlib import Path

import pytest

from tests.guides.blocks import DOCUMENTS, blocks
from tests.guides.steps import GUIDES, Guide, Write
from tests.guides.walk import Reader


@pytest.mark.parametrize("document", DOCUMENTS)
def test_every_code_block_of_a_document_has_a_step(document: str) -> None:
    begins = list(GUIDES.get(document, Guide({})).steps)
    shown = [block.text for block in blocks(document)]
    assert len(shown) == len(begins), "say in steps.py what is done with each block"
    astray = [text for text, begin in zip(shown, begins, strict=True) if not text.startswith(begin)]
    assert not astray, "steps.py has the steps in the order of the blocks"


@pytest.mark.parametrize("document", GUIDES)
def test_the_examples_of_a_document_run(document: str, tmp_path: Path) -> None:
    guide = GUIDES[document]
    steps = list(zip(blocks(document), guide.steps.values(), strict=True))
    with closing(Reader(tmp_path, guide)) as reader:
        # files first: doctor looks for the programs that the settings name
        for block, step in sorted(steps, key=lambda each: not isinstance(each[1], Write)):
            reader.prepare(block, step)
        if guide.server:
            reader.serve()
        for block, step in steps:
            reader.try_out(block, step)
