import pytest

from attn import default_config


@pytest.fixture
def config():
    return default_config()
