"""Draws the pictures of the README: of a run of ``make train``, and of the checkpoint in recipes/.

python -m tools.draw_readme
"""

from __future__ import annotations

import io
import shutil
from pathlib import Path

from rich.console import Console

from modkit.artefacts import describe
from modkit.commands.screen import rich_table

FILES = ("recipes/pretrained/digits-symbol.json", "recipes/pretrained/digits-0012.params")


def main():
    images = Path("docs/images")
    shutil.copy("out/digits-lenet.png", images / "digits.png")
    console = Console(record=True, width=90, file=io.StringIO())
    for name in FILES:
        for table in describe(name).tables():
            console.print(rich_table(table))
    console.save_svg(str(images / "inspect.svg"), title=f"modkit inspect {' '.join(FILES)}")


if __name__ == "__main__":
    main()
