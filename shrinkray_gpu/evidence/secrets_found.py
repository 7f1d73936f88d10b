"""Secrets in a text, by the patterns of those who hand them out, and by the names that people give them.

A name alone makes no secret: `num_tokens=4096` and `token = tokens[0]` are code, and a repro must stay what it is.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from shrinkray_gpu.errors import UsageError

SHOWN = "<secret>"
"""What stands in the place of one."""
SECRET = re.compile(r"TOKEN(?!IZ)|SECRET|PASSW|CREDENTIAL|API_?KEY|AUTH(?!OR(?!I[SZ]))", re.IGNORECASE)
"""Names of environment variables whose value is told to nobody; `TOKENIZERS_PARALLELISM=false` is no such."""
_NAME = r"(?:api[_-]?key|secret(?:[_-]?key)?|access[_-]?key|auth|credentials?|passw(?:or)?d|passwd|passphrase|token)"
_KINDS = {
    "a private key": r"-----BEGIN (?:[A-Z0-9]+ )*PRIVATE KEY-----(?P<secret>.+?)(?:-----END|\Z)",
    "a token of GitHub": r"\b(?P<secret>gh[pousr]_\w{20,}|github_pat_\w{20,})",
    "a token of GitLab": r"\b(?P<secret>glpat-[\w-]{16,})",
    "a token of Hugging Face": r"\b(?P<secret>hf_[A-Za-z0-9]{16,})",
    "an API key (sk-...)": r"\b(?P<secret>sk-[\w-]{16,})",
    "an access key of AWS": r"\b(?P<secret>A[KS]IA[0-9A-Z]{16})\b",
    "an API key of Google": r"\b(?P<secret>AIza[\w-]{30,})",
    "a token of Slack": r"\b(?P<secret>xox[a-z]-[\w-]{10,})",
    "a webhook": r"\b(?:hooks\.slack\.com/services|discord(?:app)?\.com/api/webhooks)/(?P<secret>[\w/-]{16,})",
    "a token of PyPI or npm": r"\b(?P<secret>pypi-[\w-]{16,}|npm_\w{30,})",
    "an API key of NVIDIA": r"\b(?P<secret>nvapi-[\w-]{16,})",
    "an API key of Stripe": r"\b(?P<secret>[sr]k_(?:live|test)_\w{16,}|whsec_\w{16,})",
    "an API key of SendGrid": r"\b(?P<secret>SG\.[\w-]{16,}\.[\w-]{16,})",
    "a token of DigitalOcean": r"\b(?P<secret>do[opr]_v1_[0-9a-f]{40,})",
    "a key of Azure": r"(?:[?&]sig=|\bAccountKey=)(?P<secret>[\w%+/-]{20,}={0,2})",
    "a secret key of AWS": r"(?i:\baws_secret_access_key)['\"]?\s*[:=]\s*['\"]?(?P<secret>[A-Za-z0-9/+]{40})(?![\w/+])",
    "a key in hexadecimal": r"(?i:\b\w{0,60}key)['\"]?\s*[:=]\s*['\"](?P<secret>[0-9a-f]{32,128})['\"]",
    "a JSON web token": r"\b(?P<secret>eyJ[\w-]{8,}\.[\w-]{8,}\.[\w-]{8,})",
    "a URL with a password": r"\b[A-Za-z][A-Za-z0-9+.-]{0,20}://[^\s/:@'\"]{0,100}:(?P<secret>[^\s/'\"]{1,200})@(?=[^@])",
    "a URL with a token": r"\b[A-Za-z][A-Za-z0-9+.-]{0,20}://(?P<secret>(?=(?:[^\s/:@'\"]{0,40}\d){4})[^\s/:@'\"]{16,200})@",
    "a user with a password": r"(?:\s-u|--user)[ =]['\"]?[^\s:'\"]{1,60}:(?P<secret>[^\s'\"]{4,})",
    "a cookie": r"(?i:\b(?:set-)?cookie): ?(?P<secret>[^\n'\"]{8,})",
    "an authorization": r"(?i:\b(?:bearer|basic|authorization['\"]?\s*[:=]\s*['\"]?token)) "
    r"(?P<secret>[\w.~+/-]{16,}=*)",
    "an option with a secret": rf"(?i:--[\w-]{{0,40}}{_NAME})(?:=|\s+)"
    r"['\"]?(?P<secret>(?!\d+\b)[^\s'\"=-][^\s'\"]{3,})",
    "a password": r"(?i:\b\w{0,60}(?:passw(?:or)?d|passphrase))['\"]?\s*[:=]\s*['\"](?P<secret>[^'\"\n]{4,})['\"]",
    "a password without quotes": r"(?i:\b\w{0,60}passw(?:or)?d)="
    r"(?P<secret>(?=[^\s'\"]{0,40}\d)[^\s'\"()\[\],.]{4,})(?![\w(\[.])",
    "a variable with a secret": rf"(?i:\b\w{{0,60}}{_NAME})['\"]?\s*[:=]\s*"
    r"(?:['\"](?P<secret>(?=(?:[^'\"]{0,40}\d){3})[^'\"\s]{12,200})['\"]|"
    r"(?P<bare>(?!0x)(?=(?:\w{0,40}\d){4})[A-Za-z0-9/+]{20,200}={0,2})(?![\w.(\[]))",
}
_NAMED = re.compile(rf"^(\w*(?:{SECRET.pattern})\w*)=(.{{6,}})$", re.MULTILINE | re.IGNORECASE)
_OPTION = re.compile(rf"--[\w-]{{0,40}}{_NAME}", re.IGNORECASE)
_PATTERNS = {kind: re.compile(pattern, re.DOTALL) for kind, pattern in _KINDS.items()}


def secrets_in(text: str) -> dict[str, str]:
    """Each secret with its kind."""
    found: dict[str, str] = {}
    for kind, pattern in _PATTERNS.items():
        for match in pattern.finditer(text):
            secret = match[_group(match)]
            if SHOWN not in secret:
                found.setdefault(secret, kind)
    return found


def without_secrets(text: str) -> str:
    """The text with all of them replaced. It keeps its lines."""
    for pattern in _PATTERNS.values():
        text = pattern.sub(_replaced, text)
    return text


def _replaced(match: re.Match[str]) -> str:
    whole, (begin, end) = match.group(), match.span(_group(match))
    begin, end = begin - match.start(), end - match.start()
    return whole[:begin] + SHOWN + "\n" * whole.count("\n", begin, end) + whole[end:]


def _group(match: re.Match[str]) -> str:
    return "secret" if match["secret"] is not None else "bare"


def without_secret_words(argv: Sequence[str]) -> tuple[str, ...]:
    """Arguments with all of a secret replaced, whatever characters it has."""
    shown: list[str] = []
    for word in argv:
        name, equals, _ = word.partition("=")
        after = bool(shown) and _OPTION.fullmatch(shown[-1]) is not None and not word.startswith("-")
        if equals and _OPTION.fullmatch(name):
            shown.append(f"{name}={SHOWN}")
        else:
            shown.append(SHOWN if after and not word.isdigit() else without_secrets(word))
    return tuple(shown)


def published_texts(argv: Sequence[str], environment: Mapping[str, str], repro: str, original: str) -> dict[str, str]:
    """What somebody gave that an attachment or a case shows, by what it is."""
    settings = "\n".join(f"{name}={value}" for name, value in environment.items())
    texts = {"the arguments": " ".join(argv), "the environment": settings, "the repro": repro, "the original": original}
    return {place: text for place, text in texts.items() if text}


@dataclass(frozen=True)
class Publish:
    """What is done about secrets in what is published."""

    strict: bool = False
    """Refused. Else replaced, and told."""
    say: Callable[[str], None] = lambda text: None

    def check(self, places: Mapping[str, str]) -> None:
        """Tells what will be replaced in these texts, never the secret itself. Raises UsageError if strict."""
        found = [
            f"{kind} in {place}" for place, text in places.items() for kind in dict.fromkeys(secrets_in(text).values())
        ]
        named = _NAMED.findall(places.get("the environment", ""))
        found += [
            f"the value of {name} in the environment" for name, value in named if not secrets_in(f"{name}={value}")
        ]
        if found and self.strict:
            raise UsageError(
                f"--publish strict: nothing is published, since there is {', '.join(found)}. Take it out, or leave "
                "--publish out to have it replaced"
            )
        if found:
            self.say(f"replaced in what is published: {', '.join(found)}. Look through it before you send it")
