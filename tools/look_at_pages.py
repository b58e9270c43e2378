"""Open built pages in chromium, wide and light beside narrow and dark; fail on what is blank or too wide.

``python tools/look_at_pages.py FOLDER PICTURES``: every ``*.html`` below FOLDER is opened, and a picture
of it is kept. A page fails if it does not load, shows no text, or scrolls sideways.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tempfile
from pathlib import Path

HEIGHT = 2600
FRAMES = {"light": 1300, "dark": 420}
SKIPPED = {"genindex", "search", "py-modindex"}

# Pages are opened in frames: a window of chromium cannot be as narrow as that of a telephone.
PROBE = """<!doctype html><title>probe</title>
<style>body {{ margin: 0; display: flex }} iframe {{ border: 0; height: {height}px; flex: none }}</style>
{frames}<pre id="result"></pre>
<script>
function note(frame, theme, width) {{
  const page = frame.contentDocument.documentElement;
  page.dataset.theme = theme;
  const seen = {{ theme, width, needed: page.scrollWidth, text: page.innerText.trim().length }};
  document.getElementById("result").textContent += "SEEN" + JSON.stringify(seen) + "END";
}}
</script>"""
FRAME = """<iframe src="{url}" style="width: {width}px" onload="note(this, '{theme}', {width})"></iframe>"""


def chromium(*options: str) -> str:
    """Run chromium once without a window and return its output."""
    command = ["chromium", "--headless", "--no-sandbox", "--disable-gpu", "--allow-file-access-from-files"]
    command += ["--hide-scrollbars", "--virtual-time-budget=4000", *options]
    return subprocess.run(command, capture_output=True, text=True, check=True, timeout=120).stdout


def look(page: Path, picture: Path) -> list[str]:
    """Open one page; return what is wrong with it."""
    frames = [FRAME.format(url=page.as_uri(), theme=t, width=w) for t, w in FRAMES.items()]
    with tempfile.TemporaryDirectory() as folder:
        probe = Path(folder) / "probe.html"
        probe.write_text(PROBE.format(height=HEIGHT, frames="".join(frames)))
        dom = chromium("--dump-dom", probe.as_uri())
        seen = [json.loads(s) for s in re.findall(r"SEEN(\{[^}]*\})END", dom)]
        picture.parent.mkdir(parents=True, exist_ok=True)
        chromium(f"--window-size={sum(FRAMES.values())},{HEIGHT}", f"--screenshot={picture}", probe.as_uri())
    problems = [f"{s['theme']}: shows no text" for s in seen if s["text"] < 20]
    problems += [
        f"{s['theme']}: {s['needed']} pixels wide in a window of {s['width']}"
        for s in seen
        if s["needed"] > s["width"]
    ]
    if len(seen) < len(FRAMES):
        problems.append("does not load")
    return problems


def main() -> int:
    """Look at every page."""
    folder, pictures = Path(sys.argv[1]).resolve(), Path(sys.argv[2]).resolve()
    pages = [p for p in sorted(folder.rglob("*.html")) if p.stem not in SKIPPED and "_static" not in p.parts]
    wrong = 0
    for page in pages:
        name = page.relative_to(folder).with_suffix("").as_posix().replace("/", ".")
        for problem in look(page, pictures / f"{name}.png"):
            wrong += 1
            print(f"{name}: {problem}")
    print(f"{len(pages)} pages, {wrong} findings, pictures in {pictures}")
    return int(wrong > 0 or not pages)


if __name__ == "__main__":
    sys.exit(main())
