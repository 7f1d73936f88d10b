from attn.config import AttentionConfig, all_configs


def test_constants():
    assert AttentionConfig(block_m=16).constants()["BLOCK_M"] == 16


def test_there_are_several():
    assert len(list(all_configs())) == 12
