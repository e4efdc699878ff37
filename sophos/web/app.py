"""The application: its routes, its guards and its error handlers, around one runtime."""

from __future__ import annotations

import asyncio
from http import HTTPStatus
from importlib.metadata import version
from typing import Any, Final

from fastapi import FastAPI
from fastapi.responses import RedirectResponse

from sophos.settings import Settings
from sophos.web import chat, conversations, health, pages, problems, runs, sign_in
from sophos.web.door import Door
from sophos.web.guards import Guards
from sophos.web.opened import Runtime
from sophos.web.render import Renderer
from sophos.web.schemas import ErrorBody

ROUTERS: Final = [module.router for module in (health, chat, conversations, runs, pages, sign_in)]
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
        servers=[{"url": settings.root_path}] if settings.root_path else None,
        telemetry={"tracing": False, "metrics": False, "logs": False, "auto_configure": False},
    )
    app.state.boot_id = boot_id
    app.state.runtime = runtime
    app.state.renderer = Renderer()
    app.state.root_path = settings.root_path
    app.state.door = None if settings.token is None else Door(settings.token)
    app.add_middleware(
        Guards,
        door=app.state.door,
        allowed_hosts=settings.allowed_hosts,
        trusted_proxies=settings.trusted_proxies,
        root_path=settings.root_path,
    )
    for router in ROUTERS:
        app.include_router(router)
    app.state.routes = [route for router in ROUTERS for route in router.routes]
    if settings.root_path:
        # The page's addresses are relative: they need the slash at the end.
        app.add_api_route(
            settings.root_path,
            lambda: RedirectResponse(f"{settings.root_path}/", HTTPStatus.PERMANENT_REDIRECT),
            methods=["GET", "HEAD"],
            include_in_schema=False,
        )
    app.mount("/static", pages.Files(directory=pages.STATIC))
    problems.install(app)
    return app
