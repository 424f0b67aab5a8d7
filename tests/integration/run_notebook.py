"""Executes join.ipynb as Jupyter does, and interrupts its cell as the stop button does.

run_notebook.py NOTEBOOK OUT COUNTED [FILE]: runs it until its output says that COUNTED samples of ours
are counted, and FILE exists, or the cell ends; then it interrupts the kernel, waits for the cell to
end, and writes the executed notebook to OUT and its output, as a page, to OUT.html. It prints the
seconds from its start until they were counted, and from the interruption to the end of the cell.
"""
import asyncio
import html
import os
import re
import sys
import time

import nbformat
from nbclient import NotebookClient


def shown(cell):
    """The HTML that the cell shows."""
    return "".join(part["data"].get("text/html", "") for part in cell.get("outputs", [])
                   if part["output_type"] in ("display_data", "execute_result"))


async def run(client, notebook, wanted, file):
    cell = notebook.cells[-1]
    begin = time.monotonic()
    interrupted = counted = None

    async def interrupt():
        nonlocal interrupted, counted
        while True:
            await asyncio.sleep(1)
            found = re.search(r"(\d+) samples of yours counted", html.unescape(shown(cell)))
            if not counted and found and int(found.group(1)) >= wanted:
                counted = time.monotonic()
                print(f"counted after {counted - begin:.0f} s", flush=True)
            if counted and (not file or os.path.exists(file)):
                interrupted = time.monotonic()
                await client.km.interrupt_kernel()
                return

    async with client.async_setup_kernel():
        watch = asyncio.ensure_future(interrupt())
        try:
            for at, each in enumerate(notebook.cells):
                await client.async_execute_cell(each, at)
        finally:
            watch.cancel()
    if interrupted:
        print(f"left in {time.monotonic() - interrupted:.0f} s", flush=True)


def main():
    source, out, wanted, file = sys.argv[1], sys.argv[2], int(sys.argv[3]), sys.argv[4:]
    notebook = nbformat.read(source, as_version=4)
    nbformat.validate(notebook)
    client = NotebookClient(notebook, timeout=None, allow_errors=True)
    asyncio.run(run(client, notebook, wanted, file[0] if file else None))
    nbformat.write(notebook, out)
    cell = notebook.cells[-1]
    with open(out + ".html", "w", encoding="utf-8") as page:
        page.write("<!doctype html><meta charset='utf-8'>" + shown(cell))
    for part in cell["outputs"]:
        if part["output_type"] == "error":
            sys.exit("the cell failed: " + part["ename"] + ": " + part["evalue"])


main()
