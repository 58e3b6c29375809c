"""The memory package brainctl as a peer of the search bench, through its own Python interface.

    npm run bench -- --only search --peer "python3 scripts/bench/peer-brainctl.py"

Reads requests and writes answers as lines of JSON (searchers.ts); everything else the package prints goes to
stderr. Its store lies in a temporary folder. Needs `pip install brainctl`; without Ollama beside it, it searches
by words only.
"""

import contextlib
import json
import sys
import tempfile
from pathlib import Path

from agentmemory import Brain


def answer(brain, request):
    if request["op"] == "add":
        return {"id": brain.remember(request["text"])}
    return {"results": [entry.get("id") for entry in brain.search(request["query"], limit=request["k"])]}


def main():
    with tempfile.TemporaryDirectory(prefix="dormouse-peer-") as folder:
        brain = Brain(db_path=str(Path(folder) / "brain.db"))
        for line in sys.stdin:
            try:
                with contextlib.redirect_stdout(sys.stderr):
                    reply = answer(brain, json.loads(line))
            except Exception as error:
                reply = {"error": f"{type(error).__name__}: {error}"}
            print(json.dumps(reply), flush=True)


main()
