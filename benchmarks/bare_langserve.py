"""A server of `add_routes(ChatOpenAI)` alone, which `serve_load.py cost` compares the server of greval with.

python benchmarks/bare_langserve.py http://127.0.0.1:PORT/v1
"""

from __future__ import annotations

import socket
import sys

import uvicorn
from fastapi import FastAPI
from langchain_openai import ChatOpenAI
from langserve import add_routes


def main() -> None:
    """Serve the model at an address; print the server's own first."""
    app = FastAPI()
    add_routes(app, ChatOpenAI(model="x", base_url=sys.argv[1], api_key="none", temperature=0), path="/chat")
    listening = socket.socket()
    listening.bind(("127.0.0.1", 0))
    listening.listen(1024)
    print(f"http://127.0.0.1:{listening.getsockname()[1]}", flush=True)
    config = uvicorn.Config(app, http="h11", loop="asyncio", log_level="warning", access_log=False)
    uvicorn.Server(config).run(sockets=[listening])


if __name__ == "__main__":
    main()
