"""Draws docs/images/report.png: the report of a saved result, in headless Chromium.

tmdp-exploit --game=leduc_poker --opponent=my_bot.py:MyBot --seconds=60 --report=report.html --save=result.json
python docs/draw_report.py result.json

The bot of the picture is a class with step(state), which returns random.choice(state.legal_actions()).
"""

import pathlib
import subprocess
import sys
import tempfile

import tmdp_spiel as ts

FLAGS = "--headless --no-sandbox --disable-gpu --hide-scrollbars --window-size=1000,1790 --virtual-time-budget=3000"

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
