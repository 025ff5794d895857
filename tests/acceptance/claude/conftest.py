"""A scripted model and a place of its own for each test of the real Claude Code."""

from collections.abc import Generator

import pytest

from muster.testing.claude_sandbox import Box, boxed
from muster.testing.model import ScriptedModel


@pytest.fixture
def model() -> Generator[ScriptedModel]:
    with ScriptedModel() as serving:
        yield serving


@pytest.fixture
def box(model: ScriptedModel) -> Generator[Box]:
    with boxed(model.url) as own:
        yield own
