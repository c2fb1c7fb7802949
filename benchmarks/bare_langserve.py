"""A server of `add_routes(ChatOpenAI)` and of a plain route, with which `serve_load.py cost` compares that of greval.

python benchmarks/bare_langserve.py http://127.0.0.1:PORT/v1
"""

import socket
import sys
from typing import Annotated

import uvicorn
from fastapi import Body, FastAPI
from langchain_openai import ChatOpenAI
from langserve import add_routes


def main() -> None:
    """Serve the model at an address; print the server's own first."""
    app = FastAPI()
    model = ChatOpenAI(model="x", base_url=sys.argv[1], api_key="none", temperature=0)
    add_routes(app, model, path="/chat")

    @app.post("/plain")
    async def answer(input: Annotated[list[dict[str, str]], Body(embed=True)]) -> dict[str, str]:  # noqa: A002 - as LangServe
        reply = await model.ainvoke([(message["type"], message["content"]) for message in input])
        return {"output": reply.text}

    listening = socket.socket()
    listening.bind(("127.0.0.1", 0))
    listening.listen(1024)
    print(f"http://127.0.0.1:{listening.getsockname()[1]}", flush=True)
    config = uvicorn.Config(app, http="h11", loop="asyncio", log_level="warning", access_log=False)
    uvicorn.Server(config).run(sockets=[listening])


if __name__ == "__main__":
    main()
