"""FastAPI dependencies: the parts of the service that routes and pages ask for."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any

from fastapi import Depends, Request

from app.service.access.keys import Keys as KeysPart
from app.service.access.ownership import Ownership as OwnershipPart
from app.service.access.sessions import Sessions as SessionsPart
from app.service.agents.registry import AgentRegistry
from app.service.demo.demos import Demos as DemosPart
from app.service.episodes.import_export import ImportExport as ImportExportPart
from app.service.episodes.lifecycle import Lifecycle as LifecyclePart
from app.service.episodes.recordings import Recordings as RecordingsPart
from app.service.episodes.stepping import Stepping as SteppingPart
from app.service.labelling.impact import Impacts
from app.service.labelling.labels import Labels as LabelsPart
from app.service.labelling.leases import Leases as LeasesPart
from app.service.labelling.queue import LabelQueue
from app.service.runtime.container import Container
from app.service.runtime.readiness import Readiness as ReadinessPart
from app.service.training.pins import Pins as PinsPart
from app.service.views import (
    agents,
    curves,
    desk,
    documents,
    episode_details,
    episodes,
    events,
    labellers,
    overview,
    policies,
    system,
)
from app.service.webhooks.webhooks import Webhooks as WebhooksPart


def container_of(request: Request) -> Container:
    """The container of the server that handles a request."""
    container: Container = request.app.state.container
    return container


def _part(choose: Callable[[Container], object]) -> Any:
    """A dependency that hands a route one part of the container.

    It is a coroutine, because FastAPI runs other dependencies in a thread.
    """

    async def part(request: Request) -> object:
        return choose(request.app.state.container)

    return Depends(part)


Registry = Annotated[AgentRegistry, _part(lambda container: container.registry)]
Lifecycle = Annotated[LifecyclePart, _part(lambda container: container.lifecycle)]
Stepping = Annotated[SteppingPart, _part(lambda container: container.stepping)]
Labels = Annotated[LabelsPart, _part(lambda container: container.labels)]
Desk = Annotated[LabelQueue, _part(lambda container: container.queue)]
Leases = Annotated[LeasesPart, _part(lambda container: container.queue.leases)]
Impact = Annotated[Impacts, _part(lambda container: container.impacts)]
Recordings = Annotated[RecordingsPart, _part(lambda container: container.recordings)]
ImportExport = Annotated[ImportExportPart, _part(lambda container: container.import_export)]
Demos = Annotated[DemosPart, _part(lambda container: container.demos)]
Pins = Annotated[PinsPart, _part(lambda container: container.pins)]
Webhooks = Annotated[WebhooksPart, _part(lambda container: container.webhooks)]
Keys = Annotated[KeysPart, _part(lambda container: container.keys)]
Ownership = Annotated[OwnershipPart, _part(lambda container: container.ownership)]
Sessions = Annotated[SessionsPart, _part(lambda container: container.sessions)]

AgentViews = Annotated[agents.AgentViews, _part(lambda container: container.views.agents)]
AgentOverviews = Annotated[
    overview.AgentOverviews, _part(lambda container: container.views.overviews)
]
EpisodeViews = Annotated[episodes.EpisodeViews, _part(lambda container: container.views.episodes)]
EpisodeDetailViews = Annotated[
    episode_details.EpisodeDetailViews, _part(lambda container: container.views.episode_details)
]
DeskViews = Annotated[desk.DeskViews, _part(lambda container: container.views.desk)]
LabellerViews = Annotated[
    labellers.LabellerViews, _part(lambda container: container.views.labellers)
]
CurveViews = Annotated[curves.CurveViews, _part(lambda container: container.views.curves)]
PolicyViews = Annotated[policies.PolicyViews, _part(lambda container: container.views.policies)]
Documents = Annotated[documents.Documents, _part(lambda container: container.views.documents)]
EventFeed = Annotated[events.EventFeed, _part(lambda container: container.views.events)]
Readiness = Annotated[ReadinessPart, _part(lambda container: container.readiness)]
SystemViews = Annotated[system.SystemViews, _part(lambda container: container.system)]

MetadataBytes = Annotated[int, _part(lambda container: container.settings.metadata_bytes)]
RecordingBytes = Annotated[int, _part(lambda container: container.settings.recording_bytes)]
