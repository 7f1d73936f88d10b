"""Pictures of report.html for docs/screens: each part of the page on a wide and on a narrow screen, light and dark.

    python docs/site/page_pictures.py FOLDER/report.html

It needs playwright and the machine's own Chromium.
"""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

from playwright.sync_api import sync_playwright

SCREENS = Path(__file__).parents[1] / "screens"
WIDTHS = {"desktop": (1240, 760), "phone": (390, 844)}
"""Of a window, in pixels, with its height."""
PARTS = {"first": "", "decides": "#experiments", "code": "#compiled", "before": "#before"}
"""Of the page: the part that is scrolled to."""


def main(report: Path) -> None:
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        for kind, (width, height) in WIDTHS.items():
            for name, place in PARTS.items():
                scheme = "dark" if name in ("code", "before") else "light"
                context = browser.new_context(viewport={"width": width, "height": height}, color_scheme=scheme)
                page = context.new_page()
                page.goto(report.absolute().as_uri())
                if place:
                    page.locator(place).evaluate("each => each.scrollIntoView()")
                page.screenshot(path=SCREENS / f"page_{name}_{kind}.png")
                context.close()
        browser.close()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
