"""Every read model of a running server."""

from __future__ import annotations

from app.service.labelling.labels import Judgement
from app.service.runtime.cache import Loaded
from app.service.runtime.events import Broadcast
from app.service.training.process_pool import LearningProcesses
from app.service.views.agents import AgentViews
from app.service.views.curves import CurveViews
from app.service.views.desk import DeskViews
from app.service.views.documents import Documents
from app.service.views.episode_details import EpisodeDetailViews
from app.service.views.episodes import EpisodeViews
from app.service.views.events import EventFeed
from app.service.views.explanation import Explanations
from app.service.views.labellers import LabellerViews
from app.service.views.overview import AgentOverviews
from app.service.views.readiness import Readiness
from app.storage.database import Database


class Views:
    """The read models, built once on the server's database and cache."""

    def __init__(
        self,
        database: Database,
        cache: Loaded,
        labels: Judgement,
        processes: LearningProcesses,
        broadcast: Broadcast,
    ) -> None:
        self.agents = AgentViews(database, cache)
        self.overviews = AgentOverviews(database, cache)
        self.episodes = EpisodeViews(database, cache, labels)
        self.episode_details = EpisodeDetailViews(database, cache)
        self.desk = DeskViews(database)
        self.labellers = LabellerViews(database)
        self.curves = CurveViews(database, cache)
        self.documents = Documents(cache)
        self.explanations = Explanations(database, cache)
        self.events = EventFeed(database, cache, broadcast)
        self.readiness = Readiness(database, processes)
