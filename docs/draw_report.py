"""Draws docs/images/report.png: the report of a saved result, in headless Chromium.

tmdp-exploit --game=kuhn --opponent=uniform --episodes=20000 --save=result.json
python docs/draw_report.py result.json
"""

import pathlib
import subprocess
import sys
import tempfile

import tmdp_spiel as ts

FLAGS = "--headless --no-sandbox --disable-gpu --hide-scrollbars --window-size=1000,1500 --virtual-time-budget=3000"

if __name__ == "__main__":
    picture = pathlib.Path(__file__).parent / "images" / "report.png"
    with tempfile.TemporaryDirectory() as folder:
        page = pathlib.Path(folder) / "report.html"
        ts.load_result(sys.argv[1]).save_report(page)
        command = [
            "chromium",
            *FLAGS.split(),
            f"--user-data-dir={folder}/profile",
            f"--screenshot={picture}",
            page.as_uri(),
        ]
        subprocess.run(command, check=True)
