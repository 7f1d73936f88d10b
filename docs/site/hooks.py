"""Links from docs/ to the rest of the repository, on the site.

On the repository's own pages `../corpus/x` is a link. The site's root is docs/, so there it leads to the repository, if
mkdocs.yml says where that is, and else it is text. Pictures from outside are copied into the site. What is folded is
Markdown as well.
"""

from __future__ import annotations

import re
from pathlib import Path

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

OUTSIDE = re.compile(r"(?P<mark>!?)\[(?P<text>[^\]]*)\]\(\.\./(?P<path>[^)#\s]+)(?P<anchor>#[^)\s]*)?\)")
COPIES = "outside"
BRANCH = "main"


def on_files(files: Files, config: MkDocsConfig) -> Files:
    root = Path(config.docs_dir).parent
    pictures = {
        link["path"]
        for file in files.documentation_pages()
        for link in OUTSIDE.finditer(file.content_string)
        if link["mark"]
    }
    for path in sorted(pictures):
        files.append(File.generated(config, f"{COPIES}/{path}", abs_src_path=str(root / path)))
    return files


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    def inside(link: re.Match[str]) -> str:
        text, path = link["text"], link["path"]
        target = Path(config.docs_dir).parent / path
        if not target.exists():
            return link[0]  # a dead link, of which MkDocs warns
        if link["mark"]:
            return f"![{text}]({COPIES}/{path})"
        if config.repo_url:
            kind = "tree" if target.is_dir() else "blob"
            return f"[{text}]({config.repo_url.rstrip('/')}/{kind}/{BRANCH}/{path}{link['anchor'] or ''})"
        return text if path.rstrip("/").endswith(text.strip("`")) else f"{text} (`{path}`)"

    # GitHub reads Markdown within details; MkDocs does where the tag says so.
    return OUTSIDE.sub(inside, markdown).replace("\n<details>", '\n<details markdown="1">')
