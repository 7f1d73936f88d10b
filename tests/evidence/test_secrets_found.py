"""Secrets are known by their patterns and names, and code is none."""

from __future__ import annotations

import time

import pytest

from shrinkray_gpu.errors import UsageError
from shrinkray_gpu.evidence.scrubbing import scrubber
from shrinkray_gpu.evidence.secrets_found import (
    Publish,
    published_texts,
    secrets_in,
    without_secret_words,
    without_secrets,
)

HEX = "0123456789abcdef0123456789abcdef01234567"


@pytest.mark.parametrize(
    ("text", "clean"),
    [
        ("export HF_TOKEN=hf_abcdefghijklmnopqrst", "export HF_TOKEN=<secret>"),
        ("python x.py --api-key=abcdef --n 3", "python x.py --api-key=<secret> --n 3"),
        ("python x.py --auth-token 'abc123xyz'", "python x.py --auth-token '<secret>'"),
        ("pip install -i https://me:pa55@host/simple", "pip install -i https://me:<secret>@host/simple"),
        ('API_KEY = "a8f9d0c7b6e5f4a3"', 'API_KEY = "<secret>"'),
        (f"wandb_api_key: {HEX}", "wandb_api_key: <secret>"),
        ("Authorization: Bearer abcdefghijklmnop12345", "Authorization: Bearer <secret>"),
        ('login("ghp_' + "a1B2" * 9 + '")', 'login("<secret>")'),
        ("github_pat_" + "a1B2" * 9, "<secret>"),
        ("glpat-abcdefgh12345678ijkl", "<secret>"),
        ("sk-proj-abcdefgh12345678ijkl", "<secret>"),
        ("AKIAIOSFODNN7EXAMPLE", "<secret>"),
        ("AIza" + "a1B2" * 9, "<secret>"),
        ("xoxb-1234567890-abcdef", "<secret>"),
        ("eyJhbGciOiJIUzI1.eyJzdWIiOiIx.SflKxwRJSMeKKF2Q", "<secret>"),
        ("password = 'hunter2'", "password = '<secret>'"),
        ("PGPASSWORD=hunter2 psql", "PGPASSWORD=<secret> psql"),
        ("postgres://u:p@ss@h/db", "postgres://u:<secret>@h/db"),
        ("https://a1b2c3d4e5f6g7h8@host/x", "https://<secret>@host/x"),
        ("curl -u user:hunter2abc https://h", "curl -u user:<secret> https://h"),
        ("Cookie: sessionid=0123456789abcdef0123", "Cookie: <secret>"),
        ("Authorization: token abcdef0123456789abcdef", "Authorization: token <secret>"),
        ("https://hooks.slack.com/services/T0/B0/XXXXXXXXXXXXXXXX", "https://hooks.slack.com/services/<secret>"),
        ("https://discord.com/api/webhooks/12345678/abcDEF012345", "https://discord.com/api/webhooks/<secret>"),
        ("https://x.net/a?sv=2020&sig=abcDEF12345678901234%3D", "https://x.net/a?sv=2020&sig=<secret>"),
        (f"AccountKey={HEX}==;End=x", "AccountKey=<secret>;End=x"),
        (f'stripe.key("sk_live_{HEX}")', 'stripe.key("<secret>")'),
        (f"whsec_{HEX}", "<secret>"),
        (f"nvapi-{HEX}", "<secret>"),
        (f"SG.{HEX[:22]}.{HEX}", "<secret>"),
        (f"dop_v1_{HEX}", "<secret>"),
        (f'wandb_key="{HEX}"', 'wandb_key="<secret>"'),
        (
            "aws_secret_access_key = wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY",
            "aws_secret_access_key = <secret>",
        ),
        (
            "-----BEGIN RSA PRIVATE KEY-----\nabc\ndef\n-----END RSA PRIVATE KEY-----\n",
            "-----BEGIN RSA PRIVATE KEY-----<secret>\n\n\n-----END RSA PRIVATE KEY-----\n",
        ),
    ],
)
def test_a_secret_is_replaced_and_its_line_stays_where_it_was(text: str, clean: str) -> None:
    assert without_secrets(text) == clean == without_secrets(clean)
    assert secrets_in(text) and not secrets_in(clean)


@pytest.mark.parametrize(
    "text",
    [
        "num_tokens=4096",
        "connect(user=name, password=password1(host))",
        "python -u run.py --user me:",
        "https://example.com/a@b",
        "ssh://git@github.com/x",
        "token = tokens[0]",
        "tokens = torch.zeros(8, device='cuda')",
        "token_type = 'bfloat16'",
        'tokenizer = "meta-llama/Llama-3-8b"',
        "python x.py --max-tokens 4096 --pad-token 128",
        "secret = hashlib.sha256(x).hexdigest()",
        "auth = load_auth2_config_from_file",
        "password = get_password()",
        "TOKEN = 'position_embedding_1'",
        "token: tl.constexpr = 128",
        "https://github.com/triton-lang/triton/issues/10474",
        "http://host:8080/x@y",
        "%5 = tt.load %4 : tensor<128x!tt.ptr<f32>> loc(#loc12)",
        "/*08c0*/ @UP4 UTMALDG.2D [UR4], [UR8] ;",
        "max_new_token=0x7f3a5c00aabbccddeeff00",
    ],
)
def test_code_is_no_secret(text: str) -> None:
    assert secrets_in(text) == {} and without_secrets(text) == text


def test_all_of_an_argument_is_a_secret() -> None:
    argv = ["--n", "3", "--api-key=a b'c", "--auth-token", "x'y z", "--token", "128", "sk-" + HEX]
    shown = ("--n", "3", "--api-key=<secret>", "--auth-token", "<secret>", "--token", "128", "<secret>")
    assert without_secret_words(argv) == shown


def test_a_secret_that_is_named_once_is_known_everywhere() -> None:
    scrub = scrubber([], texts=["--api-key=a8f9d0c7b6"])
    assert scrub.text("the server says: a8f9d0c7b6 is no key") == "the server says: <secret> is no key"


def test_what_is_replaced_is_told_and_never_the_secret() -> None:
    told: list[str] = []
    texts = published_texts(
        ["--api-key=abcdef9"], {"MY_SECRET": "xyzxyzxyz", "SIZE": "4"}, "x = 1\n", "k = 'sk-" + HEX + "'"
    )
    Publish(say=told.append).check(texts)
    [line] = told
    assert line.startswith(
        "replaced in what is published: an option with a secret in the arguments, an API key (sk-...) in"
    )
    assert "the original, the value of MY_SECRET in the environment" in line
    assert not any(secret in line for secret in ("abcdef9", "xyzxyzxyz", HEX))
    with pytest.raises(UsageError, match="--publish strict: nothing is published, since there is an option with a"):
        Publish(strict=True).check(texts)


def test_without_secrets_nothing_is_told() -> None:
    told: list[str] = []
    Publish(strict=True, say=told.append).check(published_texts(["--n", "3"], {"SIZE": "4"}, "x = 1\n", "y = 2\n"))
    assert told == []


def test_a_long_text_takes_no_time() -> None:
    began = time.process_time()
    for text in ("a" * 300_000, "token=" * 50_000, "a.b-c+" * 50_000, "1a" * 150_000, "://:" * 75_000):
        without_secrets(text)
    assert time.process_time() - began < 10
