"""The application: its routes, its guards and its error handlers, around one runtime."""

from __future__ import annotations

import asyncio
from importlib.metadata import version
from typing import Any, Final

from fastapi import FastAPI

from sophos.settings import Settings
from sophos.web import chat, conversations, health, pages, problems, runs
from sophos.web.guards import Guards
from sophos.web.opened import Runtime
from sophos.web.render import Renderer
from sophos.web.schemas import ErrorBody

ROUTERS: Final = [module.router for module in (health, chat, conversations, runs, pages)]
_SCHEMA: Final = "#/components/schemas/{model}"


class Application(FastAPI):
    def openapi(self) -> dict[str, Any]:
        """FastAPI's description, with our errors in place of its own."""
        if self.openapi_schema is None:
            description = super().openapi()
            schemas = description["components"]["schemas"]
            schemas["ErrorBody"] = ErrorBody.model_json_schema(ref_template=_SCHEMA)
            schemas |= schemas["ErrorBody"].pop("$defs")
            # FastAPI adds a 422 wherever there is a parameter. Ours are answered with 400.
            for methods in description["paths"].values():
                for operation in methods.values():
                    if "HTTPValidationError" in str(operation["responses"].get("422")):
                        del operation["responses"]["422"]
            for unused in ("HTTPValidationError", "ValidationError"):
                schemas.pop(unused, None)
        return super().openapi()


def create_app(settings: Settings, boot_id: str, runtime: asyncio.Future[Runtime]) -> FastAPI:
    """The application for `runtime`, which may still be on its way: only healthz does not wait."""
    app = Application(
        title="Sophos",
        version=version("sophos"),
        docs_url=None,  # FastAPI's pages load scripts from elsewhere; ours is /docs in `pages`
        redoc_url=None,
        redirect_slashes=False,
        telemetry={"tracing": False, "metrics": False, "logs": False, "auto_configure": False},
    )
    app.state.boot_id = boot_id
    app.state.runtime = runtime
    app.state.renderer = Renderer()
    app.add_middleware(Guards, allowed_hosts=settings.allowed_hosts, token=settings.token)
    for router in ROUTERS:
        app.include_router(router)
    app.state.routes = [route for router in ROUTERS for route in router.routes]
    app.mount("/static", pages.Files(directory=pages.STATIC))
    problems.install(app)
    return app
