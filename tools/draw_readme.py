"""Draws the pictures of the README from a run of ``make train``: out/ to docs/images/.

python -m tools.draw_readme
"""

from __future__ import annotations

import io
import shutil
from pathlib import Path

from rich.console import Console

from modkit.artefacts import describe
from modkit.commands.screen import rich_table

FILES = ("digits-symbol.json", "digits-0015.params")


def main():
    images = Path("docs/images")
    shutil.copy("out/digits-lenet.png", images / "digits.png")
    console = Console(record=True, width=90, file=io.StringIO())
    for name in FILES:
        for table in describe(f"out/{name}").tables():
            console.print(rich_table(table))
    console.save_svg(str(images / "inspect.svg"), title=f"modkit inspect out/{' out/'.join(FILES)}")


if __name__ == "__main__":
    main()
