"""Gives Weir's colours and sizes to the build of the documentation."""

import shutil
from pathlib import Path
from typing import Any

STATIC = Path(__file__).parents[3] / "static"


def on_post_build(config: Any) -> None:
    for source in ("css/tokens.css", "img/weir.svg"):
        shutil.copyfile(STATIC / source, Path(config["site_dir"]) / Path(source).name)
